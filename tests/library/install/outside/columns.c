#include "layouts.h"

#include <stdio.h>

int main(void)
{
    double matrix[8][8];
    int good;

    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            matrix[i][j] = 8 * i + j;
    good = last_of_column(&matrix[0][3]) == 8 * 7 + 3 && bytes_of_interior() == 48L * 40 * 56 * 8;
    printf("columns: %s\n", good ? "verified" : "WRONG");
    return !good;
}
