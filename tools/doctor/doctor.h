/* What the checks of `packwright doctor` share: a finding, and one function for each check. */
#ifndef PW_TOOLS_DOCTOR_H
#define PW_TOOLS_DOCTOR_H

typedef enum pw_doctor_level {
    PW_DOCTOR_OK,
    PW_DOCTOR_OFF, /* programs run, and something that could gain is off */
    PW_DOCTOR_BAD  /* programs do not run with Packwright, or nothing is compiled */
} pw_doctor_level;

typedef struct pw_finding {
    pw_doctor_level level;
    char what[1024];  /* what was found */
    char remedy[512]; /* how to turn it on; "" if nothing is off */
} pw_finding;

/* Sets what was found, which is in order. */
void pw_doctor_ok(pw_finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets what was found, which is not, and what to do. */
void pw_doctor_off(pw_finding *f, pw_doctor_level level, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* mpi.c: interposers, launchers, variables, tools. */
void pw_doctor_version(pw_finding *f);
void pw_doctor_interposers(pw_finding *f);
void pw_doctor_launcher(pw_finding *f);
void pw_doctor_variables(pw_finding *f);
void pw_doctor_tools(pw_finding *f);

/* compilers.c: code generators and GPUs. */
void pw_doctor_compiler(pw_finding *f);
void pw_doctor_gpu(pw_finding *f);
void pw_doctor_gpu_compiler(pw_finding *f);

/* kernel.c: what the system's kernel permits. */
void pw_doctor_memfd(pw_finding *f);
void pw_doctor_peers(pw_finding *f);
void pw_doctor_userfaultfd(pw_finding *f);
void pw_doctor_limits(pw_finding *f);

/* stores.c: the kernel cache, the models, and what makes pictures. */
void pw_doctor_cache(pw_finding *f);
void pw_doctor_model(pw_finding *f);
void pw_doctor_pictures(pw_finding *f);

#endif
