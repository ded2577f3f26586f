/* A library whose users do not see that it packs with Packwright. */
double last_of_column(const double *matrix);
long bytes_of_interior(void);
