#include "column.h"
#include "field.h"

#include "layouts.h"

double last_of_column(const double *matrix)
{
    double column[my_column_SIZE / sizeof(double)];

    my_pack_column(column, matrix, 1);
    return column[my_column_SIZE / sizeof(double) - 1];
}

long bytes_of_interior(void)
{
    return my_interior_SIZE;
}
