/* A shared object that is no code generator. */
__attribute__((visibility("default"))) int pw_nothing_of_interest(void);
int pw_nothing_of_interest(void)
{
    return 0;
}
