/* The frame of a page: style, script, title. Nothing is loaded from elsewhere; light or dark as the browser is. */
#include "tools/inspect/html.h"

#include "base/markup.h"

#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#222;--paper:#fff;--line:#ddd;--code:#f7f7f5;--link:#21618c;--new:#dff3df;"
    "--gone:#fae1e1;--lit:#fdebb0;--note:#fff6dd;--notice:#7a5200}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--paper:#15191d;--line:#39424b;--code:#1e242a;"
    "--link:#7db8e8;--new:#1d3d27;--gone:#48262a;--lit:#5a4a16;--note:#3a3016;--notice:#f0d58a}}\n"
    "body{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;"
    "padding:24px;max-width:1360px}\n"
    "h1{font-size:22px;overflow-wrap:anywhere}h2{font-size:18px;margin:36px 0 8px;border-bottom:1px solid "
    "var(--line)}\n"
    "h3{font-size:14px;margin:14px 0 4px}p{margin:6px 0}nav a{margin-right:14px}a{color:var(--link)}\n"
    "pre{font:13px/1.45 'DejaVu Sans Mono',monospace;background:var(--code);border:1px solid var(--line);\n"
    "border-radius:4px;padding:10px;margin:6px 0;overflow:auto;tab-size:8}\n"
    ".picture{background:#fff;overflow-x:auto;border:1px solid var(--line);border-radius:4px}.picture "
    "svg{display:block;max-width:100%;min-width:640px;height:auto}\n"
    ".why p{margin:2px 0;overflow-wrap:anywhere}.why p.inner{margin-left:24px}\n"
    ".new{background:var(--new)}.gone{background:var(--gone)}.new,.gone,.same{display:inline-block;min-width:100%}\n"
    ".pair{display:grid;grid-template-columns:1fr 1fr;gap:12px}.pair>div{min-width:0}.pane{max-height:70vh}\n"
    ".code{display:inline-block;min-width:100%}.code[data-line]{cursor:pointer}.code.lit{background:var(--lit)}\n"
    ".missing{color:var(--notice);background:var(--note);border:1px solid var(--line);border-radius:4px;"
    "padding:8px 12px}\n"
    ".pair>div:nth-child(3){grid-column:1/-1}\n"
    "@media(max-width:900px){.pair{grid-template-columns:1fr}}\n";

/* Pointing at a line lights the lines that belong to it; a click also scrolls the other sides there. */
static const char script[] = "document.querySelectorAll('.pair').forEach(pair=>{\n"
                             "  const lines=n=>pair.querySelectorAll(`[data-line=\"${n}\"]`);\n"
                             "  const light=e=>{\n"
                             "    const at=e.target.closest('[data-line]');\n"
                             "    pair.querySelectorAll('.lit').forEach(l=>l.classList.remove('lit'));\n"
                             "    if(at)lines(at.dataset.line).forEach(l=>l.classList.add('lit'));\n"
                             "    return at;\n"
                             "  };\n"
                             "  pair.addEventListener('mouseover',light);\n"
                             "  pair.addEventListener('click',e=>{\n"
                             "    const at=light(e);\n"
                             "    if(!at)return;\n"
                             "    const pane=at.closest('.pane');\n"
                             "    pair.querySelectorAll('.pane').forEach(p=>{\n"
                             "      const to=p.querySelector(`[data-line=\"${at.dataset.line}\"]`);\n"
                             "      if(p!==pane&&to)p.scrollTop=to.offsetTop-p.offsetTop-80;\n"
                             "    });\n"
                             "  });\n"
                             "});\n";

void pw_html_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
          "<meta name='viewport' content='width=device-width'><title>",
          out);
    pw_markup_put(out, title, strlen(title));
    fprintf(out, "</title>\n<style>\n%s</style></head><body>\n<h1>", style);
    pw_markup_put(out, title, strlen(title));
    fputs("</h1>\n", out);
}

void pw_html_end(FILE *out)
{
    fprintf(out, "<script>\n%s</script>\n</body></html>\n", script);
}
