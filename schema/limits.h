/*
 * limits - every size a peer can make us spend, each with its reason.
 *
 * Nothing else in the tree may hold a bare number where a peer's input
 * decides how often or how much.  Units stand in the name or the comment.
 */
#ifndef SCHEMA_LIMITS_H
#define SCHEMA_LIMITS_H

#include <assert.h>
#include <stdint.h>

/* Documents people write. */
#define LIMIT_POLICY_BYTES 4194304 /* 100,000 rules fit */
#define LIMIT_PLAN_BYTES 1048576
#define LIMIT_TASK_BYTES 1048576 /* as the plan that it becomes */
#define LIMIT_JSON_DEPTH 16 /* ours need 6 */
#define LIMIT_PROBLEMS 100 /* more than a person reads at once */
#define LIMIT_RULES 120000 /* what 4 MiB can hold, roughly */
#define LIMIT_RULE_ID 64 /* fits a column and a sentence */
#define LIMIT_ROOTS_BYTES 4194304 /* the usual 140 have 220 KiB */
#define LIMIT_HOSTS_BYTES 1048576 /* /etc/hosts with a block list in it */
#define LIMIT_RULE_TEXT 500 /* reason and note */
#define LIMIT_LAYERS 16 /* ceiling, organisation, team, task, and air */
#define LIMIT_CREDENTIAL_NAME 64 /* as a rule's id: people write it */
#define LIMIT_QUOTA 9007199254740992 /* every JSON reader holds it exactly */
#define LIMIT_PORT_RANGES 64 /* in one rule */
#define LIMIT_PATTERN 1024 /* one path or program glob */
#define LIMIT_UPGRADE 64 /* a protocol's name in Upgrade */
#define LIMIT_TOOLRC 1048576 /* a tool's configuration file */
#define LIMIT_SET_HOSTS 1024 /* hosts that one tool's files name */
#define LIMIT_ASK_S                                               \
	86400 /* a person is asked, or trusted, for a day at most \
	       */
#define LIMIT_ASK_ID 31 /* four letters, a dash and a number */
#define LIMIT_ASK_WORDS 280 /* of the sandbox's own, beside a question */
#define LIMIT_ASK_TARGET 2048 /* a person cannot read more than that */
#define LIMIT_WISH \
	(LIMIT_ASK_TARGET + LIMIT_HOST + LIMIT_HTTP_METHOD + LIMIT_UPGRADE + 16)
#define LIMIT_ASK_HOLD_MS 60000 /* clients give up; the question stays */
#define LIMIT_QUESTIONS 64 /* open at once: more is no asking any more */
#define LIMIT_APPROVALS                                      \
	1024 /* questions and answers that stand, 5 KiB each \
	      */
#define LIMIT_DESK_CALLERS 16 /* commands that speak to one run at once */
#define LIMIT_ASK_USES 1000000 /* past this a count means nothing */
#define LIMIT_CONFLICTS 1000000 /* pairs of rules compared for conflicts */

/* Proofs about policies: beyond these the answer is that nobody can tell. */
#define LIMIT_AUTOMATON_STATES 32768 /* sets of places, for one word */
#define LIMIT_AUTOMATON_PLACES 1048576 /* in all of these sets */
#define LIMIT_REGION_CONDITIONS 128 /* on one set of attempts */
#define LIMIT_REGIONS 4096 /* pieces that one rule is cut into */

/* What one run may name. */
#define LIMIT_MOUNTS 64 /* each is some system calls at the start */
#define LIMIT_VARIABLES 256 /* a shell has about a hundred */
#define LIMIT_VARIABLE_NAME 128 /* longer ones are no names but data */
#define LIMIT_RESULT_BYTES 1048576 /* a launcher's last word */

/* Names (RFC 1035 section 2.3.4). */
#define LIMIT_HOST 253
#define LIMIT_LABEL 63

/* Channels between our own programs. */
#define LIMIT_FRAME 65536 /* a packet of 128 KiB passes */
#define LIMIT_FRAME_FDS 10 /* the handoff has nine */
#define LIMIT_CHANNEL_QUEUE 4096 /* frames that wait for a slow sibling */

/* Exchanges that the broker asks for (broker.md section 3). */
#define LIMIT_ERRAND_URL 1024 /* a Vault path, a cloud's resource name */
#define LIMIT_ERRAND_ROOTS 32768 /* an authority of one's own, and its next */
#define LIMIT_ERRAND_ENDPOINTS 256 /* some three for each credential */
#define LIMIT_ERRAND_FIELDS 8 /* four are the most that one needs */
#define LIMIT_ERRAND_WANTS 12 /* AWS gives four, and two say what is wrong */
#define LIMIT_ERRAND_CAUSE 200 /* a library's words for a failure */
#define LIMIT_ERRAND_ANSWER 1048576 /* GitHub tells of every repository */
#define LIMIT_ERRAND_VALUES 49152 /* so that those wanted fit a frame */
#define LIMIT_ERRANDS 16 /* under way at once; they last a second */
#define LIMIT_ERRAND_MS 10000 /* one exchange from its name to its end */
#define LIMIT_ERRAND_CONNECT_MS 3000 /* somebody waits for a credential */
/* Credentials and tokens (broker.md). */
#define LIMIT_CREDENTIALS_BYTES 1048576 /* a thousand credentials */
#define LIMIT_CREDENTIALS 256 /* in one file; each has a slot in the page */
#define LIMIT_CREDENTIAL_HOSTS 64 /* that one credential may go to */
#define LIMIT_SECRET 32768 /* a cloud's token has at most 20,000 */
#define LIMIT_PLACEHOLDER 512 /* the longest look-alike, in a variable */
#define LIMIT_GRANT_FIELDS 4 /* SigV4: key id, key, session token */
#define LIMIT_GRANT_FIELD_NAME 128
#define LIMIT_GRANT_SCOPE 255
#define LIMIT_GRANT_TEXT 399 /* why there is none */
#define LIMIT_GRANTS 1024 /* kept by one gateway: credentials by hosts */
#define LIMIT_ASKS 4096 /* of one gateway or command, unanswered */
#define LIMIT_IDENTITIES 256
#define LIMIT_MAY_ACT 16 /* who else may act for one identity */
#define LIMIT_TOKEN_LIFE_S 900 /* unless the credential file says another */
#define LIMIT_TOKEN_LIFE_MOST_S 3600
#define LIMIT_DELEGATED_LIFE_S 300 /* of one that was exchanged */
#define LIMIT_SCOPES 32 /* words in one scope */
#define LIMIT_SCOPE 1024 /* bytes of one */
#define LIMIT_AUDIENCE 512
#define LIMIT_TOKEN 8192 /* ours have under 2 KiB */
#define LIMIT_TOKEN_HEADER 512 /* alg, typ and kid have 90 bytes */
#define LIMIT_TOKEN_NAME 128 /* kid: a thumbprint has 43 */
#define LIMIT_JWK 8192 /* one of RSA with its certificates, not read */
#define LIMIT_TOKENS 4096 /* that one run may hold at once */
#define LIMIT_TOKEN_DEPTH 4 /* an agent of an agent of an agent */

/* Audit records (audit.md section 2). */
#define LIMIT_EVENT_OBJECT 2048
#define LIMIT_EVENT_VERB 64
#define LIMIT_EVENT_DETAIL 4096
#define LIMIT_EXCERPT 1200 /* of what could not be read */
#define LIMIT_RUN_UID 64
#define LIMIT_PRINCIPAL 200
#define LIMIT_EVENTS_WAITING 5000 /* then producers pause */
#define LIMIT_EVENTS_HELD 15000 /* a pause still lets open work end */
#define LIMIT_AUDIT_ROWS 500 /* in a commit: more gains nothing */
#define LIMIT_AUDIT_RUNS 1024 /* that share one writer */
#define LIMIT_AUDIT_PRODUCERS 16 /* of one run; three are usual */
#define LIMIT_AUDIT_STRINGS 200000 /* ids the writer remembers, 40 MiB */
#define LIMIT_AUDIT_LAYERS 1024 /* policies a run may load in its life */
#define LIMIT_SEGMENT_ROWS \
	8000000 /* 2 GB: indexed in a minute, copied in one */
#define LIMIT_SEGMENTS 4096 /* 33 thousand million rows, 8 TB */
#define LIMIT_AUDIT_RESERVE 8388608 /* thousands of flows' last rows */
#define LIMIT_DISK_LOW 536870912 /* bytes free: somebody should look */
#define LIMIT_OPENERS 4096 /* rows whose number may still be on its way */
#define LIMIT_KEEPER_DEATHS 5 /* in a row: a sixth would die like them */
#define LIMIT_KEEPER_JOBS 64 /* asked by commands, and one of ours */
#define LIMIT_ANCHOR_BYTES 67108864 /* a month of checkpoints */
#define LIMIT_FINDINGS 200 /* of verify; more than a person reads */
#define LIMIT_QUERY_ROWS 10000 /* more than a person reads at once */

/* What one sandbox may make its gateway hold. */
#define LIMIT_FLOWS 8192 /* 5,000 idle and 1,000 busy must fit */
#define LIMIT_UDP_FLOWS 1024 /* of these, so that TCP has room */
#define LIMIT_NAMES 65536 /* synthetic addresses of one run */
#define LIMIT_LEAVES 1024 /* cached certificates, 2 KiB each */
#define LIMIT_RESOLVED 2048 /* names in the resolver's cache */
#define LIMIT_NAMESERVERS 3 /* resolv.conf(5) */
#define LIMIT_LOOKUP_TRIES 6 /* each of three nameservers twice */
#define LIMIT_RESOLVING 256 /* questions to nameservers at once */
#define LIMIT_ADDRESSES 16 /* of one name that dial tries */
#define LIMIT_ACCEPTS 64 /* of one listener in a tick; others want a turn */
#define LIMIT_SESSIONS 256 /* resumable TLS sessions outside, 2 KiB each */
#define LIMIT_CARRIERS 256 /* idle connections outside, 15 KiB each */
#define LIMIT_DNS_CONNECTIONS 64 /* TCP/53 at once */
#define LIMIT_FOLD_KINDS 64 /* of refusals that are told apart */
#define LIMIT_FOLD_ROWS 16 /* of their own; then they are counted */

/* Messages of MCP in a request's body. */
#define LIMIT_MCP_BODY 1048576 /* held back until it is judged */
#define LIMIT_MCP_BATCH 64 /* clients send one; some send a few */
#define LIMIT_MCP_NAME 256 /* of a method or a tool */

/* exeat.internal. */
#define LIMIT_INTERNAL_BODY 16384 /* what is asked for there is short */
#define LIMIT_FORM_FIELDS 32 /* OAuth knows a dozen */
#define LIMIT_INTERNAL_DETAIL 512 /* a sentence about its endpoints */
#define LIMIT_INTERNAL_ANSWER 262144 /* a policy of some hundred rules */

/* Who asked. */
#define LIMIT_EXE 1024 /* a program's path: longer ones match no pattern */
#define LIMIT_ARGV 512 /* of a command line, enough to know it again */
#define LIMIT_CMDLINE 4096 /* read of one, before it is redacted */
#define LIMIT_PROCESSES 4096 /* of one sandbox that are looked through */
#define LIMIT_PROCESS_FDS 16384 /* of one process */
#define LIMIT_SIGHTINGS 4096 /* that are asked for at once */
#define LIMIT_SIGHTINGS_S 500 /* a second; more connections go unnamed */
#define LIMIT_EXE_BYTES 536870912 /* of a program that is hashed */
#define LIMIT_EXE_DIGESTS 128 /* programs of a run whose hash is kept */

/* The sandbox: its plan, its view, its end. */
#define LIMIT_PLAN_ARGUMENTS 4096 /* more than any command line we saw */
#define LIMIT_PLAN_VARIABLES 1024
#define LIMIT_PLAN_ENVIRONMENT 262144 /* bytes; a process's own is larger */
#define LIMIT_PLAN_MOUNTS 64
#define LIMIT_PATH 4096 /* the kernel's own */
#define LIMIT_PIDS 1048576 /* past this a limit means nothing */
#define LIMIT_OPEN_FILES 1048576
#define LIMIT_GUESTS 64 /* programs that exeat exec sent into one run */
#define LIMIT_CLAIM_PATH 512 /* of a program that is recorded */
#define LIMIT_CLAIM_BYTES 4096 /* of its command line */
#define LIMIT_EXEC_PROGRAMS 4096 /* processes whose program is remembered */
#define LIMIT_EXEC_PROBES 16 /* places where one is looked for */
#define LIMIT_CPU_THOUSANDTHS 4096000 /* more processors than Linux takes */
#define LIMIT_ETC_BYTES 1048576 /* one file copied into the view's /etc */
#define LIMIT_AUTHORITY_PEM 8192 /* one certificate of P-256 has 700 */
#define LIMIT_TRUST_BYTES 4194304 /* the machine's roots are 220 KiB */
#define LIMIT_SEARCH_DEPTH 32 /* one descriptor each; projects have 10 */
#define LIMIT_SEARCH_ENTRIES 200000 /* a second's work at most */
#define LIMIT_SEARCH_BYTES 16384 /* of a file that may hold a key */
#define LIMIT_HIDDEN 512 /* files named in a result */
#define LIMIT_CHANGES 100000 /* more than a person can have meant */
#define LIMIT_CHANGE_BYTES UINT64_C(1073741824) /* 1 GiB in all */
#define LIMIT_DIFF_EDITS 1000 /* of one file; 8 MiB to remember the way */
#define LIMIT_DIFF_BYTES 1048576 /* of a file shown line by line */
#define LIMIT_REMOVED 200000 /* entries looked at in a removed folder */
#define LIMIT_HIDDEN_BYTES 8388608 /* their paths, over all layers */
#define LIMIT_PATTERNS 64 /* of files to hide, or to show */
#define LIMIT_STACK 33 /* sealed layers under one workspace: see squash */
#define LIMIT_DEGRADED 32

/* Protocols (gateway.md). */
#define LIMIT_HELLO 65536 /* a post-quantum hello is under 16 KiB */
#define LIMIT_ALPN 16 /* protocols read from one hello */
#define LIMIT_HTTP_HEAD 65536 /* request or response head */
#define LIMIT_VIA_ANSWER 16384 /* head of a proxy's answer to CONNECT */
#define LIMIT_HTTP_FIELDS 128
#define LIMIT_HTTP_URI 16384
#define LIMIT_HTTP_METHOD 32
#define LIMIT_H2_STREAMS 256 /* of one connection, about 25 KiB each */
#define LIMIT_H2_WINDOW_INSIDE 65535 /* of a stream: the same machine */
#define LIMIT_H2_WINDOW_OUTSIDE 524288 /* 40 Mbit/s over 100 ms */
#define LIMIT_H2_WINDOW_ALL 2097152 /* of a connection: it opens at once */
#define LIMIT_H2_OUT 65536 /* of a stream, waiting for the peer's window */
#define LIMIT_H2_HELD 67108864 /* waits in all streams of a run */
#define LIMIT_H2_TURNS 16 /* buffers read in a tick, for others too */
/* In LIMIT_H2_COUNT_MS; whoever does more of it floods us. */
#define LIMIT_H2_RESETS 1000 /* streams that the peer gives up */
#define LIMIT_H2_PINGS 2000 /* gRPC measures with one a burst */
#define LIMIT_H2_SETTINGS 100 /* one or two are usual */
#define LIMIT_H2_EMPTIES 1000 /* frames of data with none in it */
#define LIMIT_H2_PRIORITIES 10000 /* obsolete, and still sent */
#define LIMIT_CHUNK_LINE 4096 /* size and the extensions that we drop */
#define LIMIT_HTTP_TRAILERS 16384 /* a few checksums and signatures */
#define LIMIT_AWS_PARAMETERS 128 /* of a query that is to be signed */
#define LIMIT_AWS_CHUNK 1048576 /* signed before its bytes are sent on */
#define LIMIT_AWS_FORM 131072 /* a head with its path encoded once more */
#define LIMIT_OUTBOX 2162688 /* two chunks and what is around them */
#define LIMIT_AWS_LINE 4096 /* of a signed chunk or its trailers */
#define LIMIT_NEEDLES 64 /* placeholders of a run, or what was put in one */
#define LIMIT_NEEDLE 8192 /* the longest token a head could take */
#define LIMIT_NEEDLE_LEAST 8 /* shorter ones are found by accident */
#define LIMIT_DNS_MESSAGE 4096
#define LIMIT_DATAGRAM 65507 /* what IPv4 and UDP leave of 65,535 */

/* Buffers. */
#define LIMIT_EARLY_DATAGRAMS 16 /* of a flow that is not open yet */
#define LIMIT_EARLY_BYTES 65536 /* in all of them */
#define LIMIT_RELAY_TURNS 64 /* of one message in a tick, for others too */
#define LIMIT_RELAY_BYTES 65536 /* one read; smaller ones cost CPU */

/* Waits, in milliseconds. */
#define LIMIT_SNIFF_MS 300 /* a silent client: the server speaks first */
#define LIMIT_SIGHTING_MS 250 /* which program it is: then it is unknown */
#define LIMIT_DIGEST_MS 3000 /* the same, where a rule wants to know */
#define LIMIT_HELLO_MS 10000 /* the rest of a hello that has begun */
#define LIMIT_CONDEMNED_MS 1000 /* the same, of who is refused anyway */
#define LIMIT_DIAL_MS 10000 /* all addresses of a name together */
#define LIMIT_VIA_MS 15000 /* the house's proxy dials for us */
#define LIMIT_HANDSHAKE_MS 15000 /* both TLS sessions of an interception */
#define LIMIT_HEAD_MS 30000 /* a request head that has begun */
#define LIMIT_H2_COUNT_MS 10000 /* a peer's sins are forgotten by then */
#define LIMIT_IDLE_MS 3600000 /* an hour without a byte */
#define LIMIT_UDP_IDLE_MS 120000 /* RFC 4787 section 4.3: two minutes */
#define LIMIT_CARRIER_IDLE_MS 15000 /* servers drop theirs after a minute */
#define LIMIT_REFUSE_MS 2000 /* a refusal gets this long to be read */
#define LIMIT_CLOSE_MS 2000
#define LIMIT_AUDIT_GRACE_MS 5000 /* then flows under way are ended */
#define LIMIT_AUDIT_WAIT_MS 2000 /* then 503 audit_unavailable */
#define LIMIT_FOLD_MS 10000 /* refusals are counted this long into one row */
#define LIMIT_AUDIT_COMMIT_MS 100 /* the longest a row waits for others */
#define LIMIT_AUDIT_RETRY_MS 200 /* between attempts on a full disk */
#define LIMIT_AUDIT_GIVE_UP_MS 30000 /* last rows that no disk takes */
#define LIMIT_AUDIT_LEAVE_MS 5000 /* producers of a run that has ended */
#define LIMIT_AUDIT_IDLE_MS 2000 /* then a writer without runs ends */
#define LIMIT_KEEPER_MS 5000 /* the last rows into the rollup, at the end */
#define LIMIT_CHECKPOINT_MS 10000 /* what root could rewrite at most */
#define LIMIT_REPORT_SQL 8192 /* one part of a report, ours */
#define LIMIT_SYSLOG_TEXT 16384 /* one alert; a path in it is the longest */
#define LIMIT_QUERY_MS 30000 /* a reader holds back checkpoints */
#define LIMIT_RESOLVE_MS 5000
#define LIMIT_NAMESERVER_MS 800 /* one nameserver; then the next is asked */
#define LIMIT_TTL_S 300 /* longer than that, a name may have moved */
#define LIMIT_NEGATIVE_S 5 /* a missing name may be there soon */
#define LIMIT_FAMILY_MS 50 /* for the slower family, RFC 8305 section 3 */
#define LIMIT_EASE_MS 100 /* descriptors ran short: before the next accept */
#define LIMIT_HAPPY_MS 250 /* RFC 8305 section 5 */
#define LIMIT_SWEEP_MS 50 /* a revoked credential is used no longer */
#define LIMIT_GRANT_MS 12000 /* a mint may wait for its issuer */
#define LIMIT_BROKER_LEAVE_MS 8000 /* to give back what was minted */
#define LIMIT_SIBLING_MS 10000 /* a program of ours starts or ends */
#define LIMIT_GATEWAY_GRACE_MS 2000 /* a sandbox outlives its gateway */
#define LIMIT_PAUSE_MS 2000 /* until everybody stands still */
#define LIMIT_LOOK_MS 250 /* at what a sandbox uses, where no group counts */
#define LIMIT_DISK_LOOK_MS 5000 /* a walk of all that it wrote */
#define LIMIT_TIMEOUT_GRACE_MS 5000 /* from SIGTERM to the end of all */

static_assert(LIMIT_HTTP_HEAD <= LIMIT_RELAY_BYTES,
    "one relay buffer holds the largest head");

#endif
