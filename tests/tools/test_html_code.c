/* Machine code of GPUs on a page: which line of the kernel's source each instruction belongs to. */
#include "tools/inspect/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Lines 101 and 102, behind a prelude of 100. */
static const char cuda[] = "kernel()\n    move(a)\n";

static char *page(const char *ptx, const char *sass)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    pw_html_gpu_code(out, cuda, 101, ptx, sass);
    fclose(out);
    return text;
}

static void expect(const char *text, const char *wanted)
{
    if (!strstr(text, wanted))
        fail_msg("no \"%s\" in:\n%s", wanted, text);
}

/* A function of the prelude, inlined through another one, belongs to the line of the kernel that calls the outer one.
 */
static void ptx_leads_to_the_kernel(void **state)
{
    char *text = page("\t.loc\t1 101 0\n\tmov.a;\n"
                      "\t.loc\t1 50 7, function_name $L__info_string0, inlined_at 1 102 5\n"
                      "\t.loc\t1 20 3, function_name $L__info_string1, inlined_at 1 50 7\n\tmov.b;\n"
                      "\t.loc\t1 0 5\n\tmov.c;\n$L__BB0_1:\n"
                      "\t.file\t1 \"packwright.cu\"\n\tmov.debug;\n",
                      NULL);

    (void)state;
    expect(text, "<span class='code' data-line='102'>    move(a)</span>");
    expect(text, "<span class='code' data-line='101'>\tmov.a;</span>");
    expect(text, "<span class='code' data-line='102'>\tmov.b;</span>");
    expect(text, "<span class='code'>\tmov.c;</span>");
    expect(text, "<span class='code'>$L__BB0_1:</span>");
    assert_null(strstr(text, ".loc"));
    assert_null(strstr(text, "debug"));
    assert_null(strstr(text, "SASS"));
    free(text);
}

/* Lines that say they were inlined into each other end. */
static void wrong_ptx_ends(void **state)
{
    char *text = page("\t.loc\t1 20 3, function_name $L0, inlined_at 1 30 3\n"
                      "\t.loc\t1 30 3, function_name $L0, inlined_at 1 20 3\n\tmov.a;\n\t.loc\tx\n\tmov.b;\n",
                      NULL);

    (void)state;
    expect(text, "<span class='code'>\tmov.a;</span>");
    expect(text, "<span class='code'>\tmov.b;</span>");
    free(text);
}

static void sass_leads_to_the_kernel(void **state)
{
    char *text = page(NULL, "\t.target\tsm_90\n"
                            "\t//## File \"/tmp/packwright.cu\", line 20 inlined at \"/tmp/packwright.cu\", line 50\n"
                            "\t//## File \"/tmp/packwright.cu\", line 50 inlined at \"/tmp/packwright.cu\", line 102\n"
                            "\t//## File \"/tmp/packwright.cu\", line 102\n"
                            "        /*0000*/  LDC R1 ;\n        /*0010*/  S2R R2 ;\n"
                            "\t//## File \"/tmp/packwright.cu\", line 101\n        /*0020*/  EXIT ;\n.L_x_0:\n");

    (void)state;
    expect(text, "<span class='code' data-line='102'>        /*0000*/  LDC R1 ;</span>");
    expect(text, "<span class='code' data-line='102'>        /*0010*/  S2R R2 ;</span>");
    expect(text, "<span class='code' data-line='101'>        /*0020*/  EXIT ;</span>");
    expect(text, "<span class='code'>\t.target\tsm_90</span>");
    assert_null(strstr(text, "//##"));
    assert_null(strstr(text, "PTX"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_leads_to_the_kernel),
        cmocka_unit_test(wrong_ptx_ends),
        cmocka_unit_test(sass_leads_to_the_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
