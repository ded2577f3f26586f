/* A library of XPMEM's name without its functions. */
int xpmem_version(void);

int xpmem_version(void)
{
    return 0;
}
