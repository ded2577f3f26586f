/* A library that keeps to itself how it packs. */
double last_of_column(const double *matrix);
long bytes_of_interior(void);
