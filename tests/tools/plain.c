/* A program without MPI, that ends with a status of its own. */
int main(void)
{
    return 42;
}
