/* An extension of freeDiameter that asks a credit-control server, with freeDiameter's own dictionary (dict_dcca).
 *
 * Says what happens on file descriptor 3, one JSON object a line; does what standard input says, a word a line. */
#include <freeDiameter/extension.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER_HOST "ocs.charging.test"
#define SERVER_REALM "charging.test"
#define CONTEXT "32274@3gpp.org"
#define CREDIT_CONTROL 4

static FILE *events;
static struct dict_object *ccr;
static struct fd_hook_hdl *hook;

static void say(const char *format, ...) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    vfprintf(events, format, arguments);
    fputc('\n', events);
    fflush(events);
    pthread_mutex_unlock(&lock);
    va_end(arguments);
}

static void fail(const char *what) {
    say("{\"event\":\"trouble\",\"what\":\"%s\"}", what);
    exit(1);
}

#define MUST(call) do { if ((call) != 0) fail(#call); } while (0)

/* Each message of the base protocol, and each of credit control, as it goes by. */
static void seen(enum fd_hook_type type, struct msg *msg, struct peer_hdr *peer, void *other,
                 struct fd_hook_permsgdata *data, void *registered) {
    struct msg_hdr *header;
    if (msg == NULL || fd_msg_hdr(msg, &header) != 0)
        return;
    say("{\"event\":\"message\",\"sent\":%s,\"command\":%u,\"request\":%s}",
        type == HOOK_MESSAGE_SENT ? "true" : "false", (unsigned)header->msg_code,
        header->msg_flags & CMD_FLAG_REQUEST ? "true" : "false");
}

static struct avp *added(msg_or_avp *parent, const char *name, union avp_value *value) {
    struct dict_object *model;
    struct avp *avp;
    MUST(fd_dict_search(fd_g_config->cnf_dict, DICT_AVP, AVP_BY_NAME, name, &model, ENOENT));
    MUST(fd_msg_avp_new(model, 0, &avp));
    if (value != NULL)
        MUST(fd_msg_avp_setvalue(avp, value));
    MUST(fd_msg_avp_add(parent, MSG_BRW_LAST_CHILD, avp));
    return avp;
}

static void add_u32(msg_or_avp *parent, const char *name, uint32_t number) {
    union avp_value value = {.u32 = number};
    added(parent, name, &value);
}

static void add_text(msg_or_avp *parent, const char *name, const char *text) {
    union avp_value value = {.os = {.data = (uint8_t *)text, .len = strlen(text)}};
    added(parent, name, &value);
}

static void add_units(msg_or_avp *parent, const char *name, uint64_t units) {
    union avp_value value = {.u64 = units};
    struct avp *group = added(parent, name, NULL);
    added(group, "CC-Service-Specific-Units", &value);
}

static int number_of(struct msg *msg, const char *name, struct avp_hdr **found) {
    struct dict_object *model;
    struct avp *avp;
    MUST(fd_dict_search(fd_g_config->cnf_dict, DICT_AVP, AVP_BY_NAME, name, &model, ENOENT));
    return fd_msg_search_avp(msg, model, &avp) == 0 && avp != NULL && fd_msg_avp_hdr(avp, found) == 0
           && (*found)->avp_value != NULL;
}

/* What the asking thread waits for. */
struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t heard;
    int is_heard;
};

static void answered(void *data, struct msg **msg) {
    struct waiting *waiting = data;
    struct avp_hdr *code, *type, *number;
    struct dict_object *granted_model;
    struct avp *granted = NULL;
    /* The dictionary judges the whole answer. */
    int parsed = fd_msg_parse_rules(*msg, fd_g_config->cnf_dict, NULL);
    if (!number_of(*msg, "Result-Code", &code))
        fail("an answer without Result-Code");
    MUST(fd_dict_search(fd_g_config->cnf_dict, DICT_AVP, AVP_BY_NAME, "Granted-Service-Unit", &granted_model, ENOENT));
    MUST(fd_msg_search_avp(*msg, granted_model, &granted));
    int has_kind = number_of(*msg, "CC-Request-Type", &type) && number_of(*msg, "CC-Request-Number", &number);
    say("{\"event\":\"answer\",\"code\":%u,\"type\":%d,\"number\":%d,\"granted\":%s,\"sound\":%s}",
        code->avp_value->u32, has_kind ? type->avp_value->i32 : -1, has_kind ? (int)number->avp_value->u32 : -1,
        granted != NULL ? "true" : "false", parsed == 0 ? "true" : "false");
    MUST(fd_msg_free(*msg));
    *msg = NULL;
    pthread_mutex_lock(&waiting->lock);
    waiting->is_heard = 1;
    pthread_cond_signal(&waiting->heard);
    pthread_mutex_unlock(&waiting->lock);
}

static void ask(const char *session, uint32_t type, uint32_t number, const char *subscriber, uint64_t asked,
                uint64_t used) {
    struct waiting waiting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    struct msg *msg;
    struct avp *group;
    MUST(fd_msg_new(ccr, MSGFL_ALLOC_ETEID, &msg));
    add_text(msg, "Session-Id", session);
    MUST(fd_msg_add_origin(msg, 0));
    add_text(msg, "Destination-Realm", SERVER_REALM);
    add_u32(msg, "Auth-Application-Id", CREDIT_CONTROL);
    add_text(msg, "Service-Context-Id", CONTEXT);
    add_u32(msg, "CC-Request-Type", type);
    add_u32(msg, "CC-Request-Number", number);
    group = added(msg, "Subscription-Id", NULL);
    add_u32(group, "Subscription-Id-Type", 0);
    add_text(group, "Subscription-Id-Data", subscriber);
    if (type == 4)
        add_u32(msg, "Requested-Action", 0);
    if (type == 3)
        add_u32(msg, "Termination-Cause", 1);
    if (asked > 0)
        add_units(msg, "Requested-Service-Unit", asked);
    if (used > 0)
        add_units(msg, "Used-Service-Unit", used);
    MUST(fd_msg_send(&msg, answered, &waiting));
    pthread_mutex_lock(&waiting.lock);
    while (!waiting.is_heard)
        pthread_cond_wait(&waiting.heard, &waiting.lock);
    pthread_mutex_unlock(&waiting.lock);
}

static void *obey(void *nothing) {
    char line[64];
    /* Not before the core runs: what is said on standard input is said when the peer is open. */
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "event") == 0) {
            ask("freediameter.client.test;1;1", 4, 0, "46701740601", 3, 0);
        } else if (strcmp(line, "nobody") == 0) {
            ask("freediameter.client.test;1;2", 4, 0, "46701740699", 3, 0);
        } else if (strcmp(line, "session") == 0) {
            ask("freediameter.client.test;1;3", 1, 0, "46701740602", 10, 0);
            ask("freediameter.client.test;1;3", 2, 1, "46701740602", 20, 7);
            ask("freediameter.client.test;1;3", 3, 2, "46701740602", 0, 15);
        } else if (strcmp(line, "goodbye") == 0) {
            fd_core_shutdown();
        }
    }
    /* Who started us has gone. */
    exit(0);
}

static int entry(char *configuration) {
    struct dict_object *application;
    application_id_t id = CREDIT_CONTROL;
    pthread_t thread;
    (void)configuration;
    events = fdopen(3, "w");
    if (events == NULL)
        return EBADF;
    CHECK_FCT(fd_dict_search(fd_g_config->cnf_dict, DICT_APPLICATION, APPLICATION_BY_ID, &id, &application, ENOENT));
    CHECK_FCT(fd_dict_search(fd_g_config->cnf_dict, DICT_COMMAND, CMD_BY_NAME, "Credit-Control-Request", &ccr, ENOENT));
    CHECK_FCT(fd_disp_app_support(application, NULL, 1, 0));
    CHECK_FCT(fd_hook_register(HOOK_MASK(HOOK_MESSAGE_RECEIVED, HOOK_MESSAGE_SENT), seen, NULL, NULL, &hook));
    CHECK_POSIX(pthread_create(&thread, NULL, obey, NULL));
    CHECK_POSIX(pthread_detach(thread));
    say("{\"event\":\"started\"}");
    return 0;
}

EXTENSION_ENTRY("credit_client", entry, "dict_dcca");
