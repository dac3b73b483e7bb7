/* librdkafka's assignors, called as its group leader does: what a member puts on the wire is read back by
 * MemberMetadata_consumer_read, cooperative answers are adjusted as in rd_kafka_cgrp_assignor_run; rdkafka_cgrp.c is included
 * for these static functions. One question a line, {"assignor", "request"}; the answer is {"assignments": {member: {topic: [ids]}},
 * "seconds"} or {"error": {"exception", "message"}}, after which a process of its own has ended, if it does not end well.
 * usage: librdkafka_leader SECONDS, the most that one may take. tests/support/clients.py compiles it. */
#include "rdkafka_cgrp.c"
#include "cJSON.h"

#include <sys/wait.h>

#define RACKS (RD_KAFKA_VERSION >= 0x02030000) /* KIP-881; 1.9.2 knows nothing of racks */
#if !RACKS
#define rd_kafka_topic_info_destroy_free rd_kafka_topic_info_destroy
#endif

static const char *text(const cJSON *o, const char *key) {
        const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, key);
        return cJSON_IsString(x) ? x->valuestring : NULL;
}

static int compare(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static rd_kafka_metadata_t *metadata_of(const cJSON *topics) {
        int n = cJSON_GetArraySize(topics), i = 0;
        rd_kafka_metadata_topic_t *mdt = calloc(n, sizeof(*mdt));
        const cJSON *t;
        cJSON_ArrayForEach(t, topics) {
                mdt[i].topic           = (char *)text(t, "topic_name");
                mdt[i++].partition_cnt = cJSON_GetObjectItem(t, "partitions_count")->valueint;
        }
#if RACKS
        rd_kafka_metadata_t *md           = rd_kafka_metadata_new_topic_mock(mdt, n, -1, 0);
        rd_kafka_metadata_internal_t *mdi = rd_kafka_metadata_get_internal(md);
        i                                 = 0;
        cJSON_ArrayForEach(t, topics) {
                const cJSON *row;
                int p = 0;
                cJSON_ArrayForEach(row, cJSON_GetObjectItem(t, "partition_racks")) {
                        char **racks = malloc(sizeof(char *) * (cJSON_GetArraySize(row) + 1));
                        const cJSON *r;
                        int c = 0, d = 0, j;
                        cJSON_ArrayForEach(r, row) racks[c++] = r->valuestring;
                        qsort(racks, c, sizeof(char *), compare);
                        for (j = 0; j < c; j++)
                                if (!j || strcmp(racks[j], racks[j - 1]))
                                        racks[d++] = racks[j];
                        mdi->topics[i].partitions[p].racks       = racks;
                        mdi->topics[i].partitions[p++].racks_cnt = d;
                }
                i++;
        }
#else
        rd_kafka_metadata_t *md = rd_kafka_metadata_new_topic_mock(mdt, n);
#endif
        free(mdt);
        return md;
}

static cJSON *answer(rd_kafka_t *rk, const rd_kafka_assignor_t *rkas, const cJSON *request) {
        const cJSON *members = cJSON_GetObjectItem(request, "members"), *m, *x, *y;
        int n                = cJSON_GetArraySize(members), i = 0, j;
        rd_kafka_group_member_t *group = calloc(n, sizeof(*group));
        char errstr[512] = "";
        struct timespec begin, end;
        rd_kafka_broker_t *broker = RACKS ? NULL : rd_kafka_broker_internal(rk); /* 1.9.2 wants one, to log errors on */
        cJSON_ArrayForEach(m, members) {
                const char *id = text(m, "member_id"), *instance = text(m, "instance_id"), *rack = text(m, "rack_id");
                const cJSON *owned = cJSON_GetObjectItem(m, "owned_partitions"), *g = cJSON_GetObjectItem(m, "generation_id");
                rd_kafka_topic_partition_list_t *has = NULL;
                void *state                          = NULL;
                rd_list_t topics;
                rd_kafkap_str_t *kid = rd_kafkap_str_new(id, -1), *kinstance = rd_kafkap_str_new(instance, -1);
                rd_kafkap_str_t *krack = rd_kafkap_str_new(rack ? rack : "", -1); /* as client.rack without a value */
                rd_list_init(&topics, 4, (void *)rd_kafka_topic_info_destroy_free);
                cJSON_ArrayForEach(x, cJSON_GetObjectItem(m, "topic_names"))
                    rd_list_add(&topics, rd_kafka_topic_info_new(x->valuestring, -1));
                if (owned) {
                        has = rd_kafka_topic_partition_list_new(8);
                        cJSON_ArrayForEach(x, owned) cJSON_ArrayForEach(y, cJSON_GetObjectItem(x, "partition_ids"))
                            rd_kafka_topic_partition_list_add(has, text(x, "topic_name"), y->valueint);
                        if (rkas->rkas_on_assignment_cb) {
                                rd_kafka_consumer_group_metadata_t *cgm = rd_kafka_consumer_group_metadata_new_with_genid(
                                    "group", g ? g->valueint : -1, id, instance);
                                rkas->rkas_on_assignment_cb(rkas, &state, has, NULL, cgm);
                                rd_kafka_consumer_group_metadata_destroy(cgm);
                        }
                }
#if RACKS
                rd_kafkap_bytes_t *wire = rkas->rkas_get_metadata_cb(rkas, state, &topics, has, krack);
#else
                rd_kafkap_bytes_t *wire = rkas->rkas_get_metadata_cb(rkas, state, &topics, has);
#endif
                rd_kafka_group_member_t *rkgm = &group[i++]; /* as in handle_JoinGroup */
                rkgm->rkgm_member_id          = rd_kafkap_str_copy(kid);
                rkgm->rkgm_group_instance_id  = rd_kafkap_str_copy(kinstance);
                rd_list_init(&rkgm->rkgm_eligible, 0, NULL);
                rkgm->rkgm_generation = -1;
                if (rd_kafka_group_MemberMetadata_consumer_read(broker, rkgm, wire))
                        abort();
                rkgm->rkgm_assignment = rd_kafka_topic_partition_list_new(rkgm->rkgm_subscription->cnt);
        }
        rd_kafka_metadata_t *md = metadata_of(cJSON_GetObjectItem(request, "topics"));
        clock_gettime(CLOCK_MONOTONIC, &begin);
        rd_kafka_resp_err_t err = rd_kafka_assignor_run(rk->rk_cgrp, rkas, md, group, n, errstr, sizeof(errstr));
        clock_gettime(CLOCK_MONOTONIC, &end);
        cJSON *out              = cJSON_CreateObject(), *in;
        if (err) {
                in = cJSON_AddObjectToObject(out, "error");
                cJSON_AddStringToObject(in, "exception", rd_kafka_err2name(err));
                cJSON_AddStringToObject(in, "message", errstr);
                return out;
        }
        if (rkas->rkas_protocol == RD_KAFKA_REBALANCE_PROTOCOL_COOPERATIVE)
                rd_kafka_cooperative_protocol_adjust_assignment(rk->rk_cgrp, group, n);
        cJSON_AddNumberToObject(out, "seconds", end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9);
        in = cJSON_AddObjectToObject(out, "assignments");
        for (i = 0; i < n; i++) {
                cJSON *one = cJSON_AddObjectToObject(in, group[i].rkgm_member_id->str);
                for (j = 0; j < group[i].rkgm_assignment->cnt; j++) {
                        const rd_kafka_topic_partition_t *p = &group[i].rkgm_assignment->elems[j];
                        cJSON *ids                          = cJSON_GetObjectItemCaseSensitive(one, p->topic);
                        if (!ids)
                                ids = cJSON_AddArrayToObject(one, p->topic);
                        cJSON_AddItemToArray(ids, cJSON_CreateNumber(p->partition));
                }
        }
        return out;
}

static rd_kafka_t *consumer(const char *assignor) {
        char errstr[512];
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        if (rd_kafka_conf_set(conf, "group.id", "group", errstr, sizeof(errstr)) ||
            rd_kafka_conf_set(conf, "log_level", "0", errstr, sizeof(errstr)) ||
            rd_kafka_conf_set(conf, "partition.assignment.strategy", assignor, errstr, sizeof(errstr)))
                abort();
        return rd_kafka_new(RD_KAFKA_CONSUMER, conf, errstr, sizeof(errstr));
}

int main(int argc, char **argv) {
        static const char *names[] = {"range", "roundrobin", "cooperative-sticky"};
        rd_kafka_t *rks[3];
        char *line  = NULL;
        size_t size = 0;
        int i, status;
        if (argc != 2)
                return 1;
        for (i = 0; i < 3; i++)
                rks[i] = consumer(names[i]);
        while (getline(&line, &size, stdin) > 0) {
                cJSON *question  = cJSON_Parse(line);
                const char *name = text(question, "assignor");
                for (i = 0; strcmp(names[i], name); i++)
                        ;
                int ends[2], length = 0, got;
                char *answered = malloc(1), block[65536];
                if (pipe(ends))
                        abort();
                pid_t child = fork();
                if (!child) {
                        alarm(atoi(argv[1]));
                        FILE *out = fdopen(ends[1], "w");
                        fputs(cJSON_PrintUnformatted(answer(rks[i], rd_kafka_assignor_find(rks[i], name), cJSON_GetObjectItem(question, "request"))), out);
                        fclose(out);
                        _exit(0);
                }
                close(ends[1]);
                while ((got = read(ends[0], block, sizeof(block))) > 0) {
                        answered = realloc(answered, length + got);
                        memcpy(answered + length, block, got);
                        length += got;
                }
                close(ends[0]);
                waitpid(child, &status, 0);
                if (WIFSIGNALED(status))
                        printf("{\"error\":{\"exception\":\"signal\",\"message\":\"%s\"}}", strsignal(WTERMSIG(status)));
                else
                        fwrite(answered, 1, length, stdout);
                puts("");
                fflush(stdout);
                free(answered);
                cJSON_Delete(question);
        }
        return 0;
}
