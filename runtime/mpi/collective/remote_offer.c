/* The sender of a block. */
#include "runtime/mpi/collective/remote_slot.h"

#include <stdlib.h>
#include <string.h>

static size_t offer_bytes(const pw_remote_offer *o)
{
    return offsetof(pw_remote_offer, more) + (o->again ? 0 : o->key_bytes + o->text_bytes);
}

static void forget_text(pw_remote_slot *s)
{
    free(s->text);
    s->text = NULL;
}

/* Writes key and text behind the offer, unless the receiver has them. */
static bool add_details(pw_remote_slot *s, const pw_net_key *key)
{
    pw_remote_offer *o = &s->offer;
    size_t length;

    o->again = s->text && s->key == key->number;
    if (o->again)
        return true;
    forget_text(s);
    s->text = pw_remote_text(&s->m.buffer);
    length = s->text ? strlen(s->text) + 1 : 0;
    if (length == 0 || length > PW_REMOTE_TEXT_BYTES) {
        forget_text(s);
        return false;
    }
    s->key = key->number;
    o->key_bytes = key->bytes;
    o->text_bytes = (uint32_t)length;
    memcpy(o->more, key->data, key->bytes);
    memcpy(o->more + key->bytes, s->text, length);
    return true;
}

static void make_offer(pw_remote_slot *s, const pw_side *side)
{
    pw_net_key key;
    bool changed;

    if (!pw_remote_is_ready(s, side, &changed))
        return;
    if (changed)
        forget_text(s);
    if (!pw_remote_bounds(&s->m.buffer, &s->first, &s->span) || !pw_net->offer(s->first, s->span, &key))
        return;
    s->registered = key.number;
    if (!add_details(s, &key))
        return;
    s->offer.address = (uintptr_t)s->memory;
    s->offer.bytes = s->bytes;
}

void pw_remote_begin_out(const pw_remote_call *r, pw_remote_slot *s)
{
    if (!pw_remote_begin(r, s, &r->call->send))
        return;
    s->offer.bytes = 0;
    s->offer.again = true;
    s->offer.id = r->id;
    if (r->ready)
        make_offer(s, &r->call->send);
    pw_net->receive(pw_remote_tag(r->remote->id, PW_REMOTE_ANSWER, s->rank), &s->answer, sizeof s->answer, &s->op);
    pw_net->send(s->peer, pw_remote_tag(s->id, PW_REMOTE_OFFER, r->remote->rank), &s->offer,
                 (int64_t)offer_bytes(&s->offer), &s->op);
}

/* The memory stays offered as long as the persistent request lives, under another key if it was unmapped since. */
static bool renew(pw_remote_slot *s)
{
    pw_remote_offer *o = &s->offer;
    pw_net_key key;

    if (!pw_net->offer(s->first, s->span, &key))
        return false;
    pw_remote_withdraw(s);
    s->registered = key.number;
    o->again = s->key == key.number;
    if (o->again)
        return true;
    s->key = key.number;
    o->key_bytes = key.bytes;
    o->text_bytes = 0;
    memcpy(o->more, key.data, key.bytes);
    return true;
}

void pw_remote_offer_again(pw_remote_slot *s, uint32_t id, int rank)
{
    s->op = (pw_net_op){0};
    s->done = false;
    s->offer.again = true;
    s->offer.bytes = renew(s) ? s->bytes : 0;
    s->stage = PW_REMOTE_OFFERED;
    pw_net->receive(pw_remote_tag(id, PW_REMOTE_DONE, s->rank), &s->done, sizeof s->done, &s->op);
    pw_net->send(s->peer, pw_remote_tag(s->id, PW_REMOTE_OFFER, rank), &s->offer, (int64_t)offer_bytes(&s->offer),
                 &s->op);
}
