/* A library whose thread-local variable must lie in the room that the loader keeps for libraries that come late. */
static _Thread_local char eaten[32] __attribute__((tls_model("initial-exec")));

__attribute__((visibility("default"))) char *tls_eater(void);

char *tls_eater(void)
{
    return eaten;
}
