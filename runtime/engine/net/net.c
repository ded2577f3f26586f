#include "runtime/engine/net/net.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/engine/net/backend.h"
#include "runtime/engine/net/registrations.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* By the words of PACKWRIGHT_NET, after "off". */
static const pw_net_backend *const backends[] = {&pw_net_ucx, &pw_net_verbs};

/* The singleton. The lock is held through all calls of the backend. */
static struct {
    pthread_mutex_t lock;
    bool tried;
    const pw_net_backend *backend; /* NULL: there is no network */
    pw_net_peer *peers;
} net = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static void start(void)
{
    int choice = pw_env_choice(PW_ENV_NET);
    const pw_net_backend *backend = choice > 0 ? backends[choice - 1] : NULL;
    const char *why = backend ? backend->open() : "it is off";

    net.tried = true;
    if (why) {
        pw_log(PW_LOG_WARN, "PACKWRIGHT_NET: no network: %s", why);
        return;
    }
    net.backend = backend;
    pw_registrations_open(backend);
}

bool pw_net_start(void)
{
    bool there;

    pthread_mutex_lock(&net.lock);
    if (!net.tried)
        start();
    there = net.backend;
    pthread_mutex_unlock(&net.lock);
    return there;
}

void pw_net_stop(void)
{
    pthread_mutex_lock(&net.lock);
    if (net.backend) {
        pw_registrations_close();
        net.backend->close();
        net.backend = NULL;
    }
    while (net.peers) {
        pw_net_peer *p = net.peers;

        net.peers = p->next;
        free(p);
    }
    net.tried = false;
    pthread_mutex_unlock(&net.lock);
}

/* ---- other processes --------------------------------------------------------------------------------------------- */

size_t pw_net_address(void *out, size_t max)
{
    size_t bytes;

    pthread_mutex_lock(&net.lock);
    bytes = net.backend ? net.backend->address(out, max) : 0;
    pthread_mutex_unlock(&net.lock);
    return bytes;
}

static pw_net_peer *find_peer(const void *address, size_t bytes)
{
    pw_net_peer *p = net.peers;

    while (p && (p->bytes != bytes || memcmp(p->address, address, bytes) != 0))
        p = p->next;
    return p;
}

static pw_net_peer *add_peer(const void *address, size_t bytes)
{
    pw_net_peer *p = malloc(sizeof *p + bytes);

    if (!p)
        return NULL;
    memcpy(p->address, address, bytes);
    p->bytes = bytes;
    p->state = net.backend->connect(p);
    if (!p->state) {
        free(p);
        return NULL;
    }
    *p->transports = '\0';
    net.backend->transports(p, p->transports);
    p->next = net.peers;
    net.peers = p;
    return p;
}

pw_net_peer *pw_net_peer_at(const void *address, size_t bytes)
{
    pw_net_peer *p = find_peer(address, bytes);

    return p ? p : add_peer(address, bytes);
}

pw_net_peer *pw_net_connect(const void *address, size_t bytes)
{
    pw_net_peer *p = NULL;

    pthread_mutex_lock(&net.lock);
    if (net.backend)
        p = pw_net_peer_at(address, bytes);
    pthread_mutex_unlock(&net.lock);
    return p;
}

const char *pw_net_transports(const pw_net_peer *peer)
{
    return peer->transports;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

bool pw_net_is_over(const pw_net_op *op)
{
    bool over;

    pthread_mutex_lock(&net.lock);
    over = op->open == 0;
    pthread_mutex_unlock(&net.lock);
    return over;
}

void pw_net_progress(void)
{
    pthread_mutex_lock(&net.lock);
    net.backend->progress();
    pthread_mutex_unlock(&net.lock);
}

void pw_net_send(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op)
{
    pthread_mutex_lock(&net.lock);
    if (bytes <= PW_NET_MESSAGE_BYTES)
        net.backend->send(to, tag, data, bytes, op);
    else
        op->failed = true;
    pthread_mutex_unlock(&net.lock);
}

void pw_net_receive(pw_net_peer *from, uint64_t tag, void *data, int64_t most, pw_net_op *op)
{
    pthread_mutex_lock(&net.lock);
    net.backend->receive(from, tag, data, most, op);
    pthread_mutex_unlock(&net.lock);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

bool pw_net_offer(const void *memory, int64_t bytes, pw_net_key *out)
{
    const pw_net_key *key;

    pthread_mutex_lock(&net.lock);
    key = net.backend ? pw_registrations_take(memory, bytes, false) : NULL;
    if (key)
        *out = *key;
    pthread_mutex_unlock(&net.lock);
    return key;
}

bool pw_net_prepare(void *memory, int64_t bytes, uint64_t *number)
{
    const pw_net_key *key = NULL;
    bool is_needed;

    pthread_mutex_lock(&net.lock);
    is_needed = net.backend && net.backend->reads_to_registered;
    if (is_needed)
        key = pw_registrations_take(memory, bytes, true);
    *number = key ? key->number : 0; /* which is no registration's */
    pthread_mutex_unlock(&net.lock);
    return key || !is_needed;
}

void pw_net_withdraw(uint64_t number)
{
    pthread_mutex_lock(&net.lock);
    pw_registrations_give(number);
    pthread_mutex_unlock(&net.lock);
}

pw_net_source *pw_net_source_open(pw_net_peer *owner, const void *key, size_t bytes)
{
    pw_net_source *s = bytes > 0 ? malloc(sizeof *s) : NULL;

    if (!s)
        return NULL;
    s->owner = owner;
    pthread_mutex_lock(&net.lock);
    s->key = net.backend->open_key(owner, key, bytes);
    pthread_mutex_unlock(&net.lock);
    if (s->key)
        return s;
    free(s);
    return NULL;
}

void pw_net_source_close(pw_net_source *source)
{
    if (!source)
        return;
    pthread_mutex_lock(&net.lock);
    net.backend->close_key(source->key);
    pthread_mutex_unlock(&net.lock);
    free(source);
}

void pw_net_read(pw_net_source *source, const pw_net_piece *pieces, int64_t n, pw_net_op *op)
{
    pthread_mutex_lock(&net.lock);
    net.backend->read(source, pieces, n, op);
    pthread_mutex_unlock(&net.lock);
}
