#include "gateway/proto/http1_fault.h"

#include <assert.h>

static const struct {
	const char *id, *words;
	enum reason reason;
} faults[] = {
	[HTTP1_NO_FAULT] = { "none", "nothing is wrong", REASON_NONE },
	[HTTP1_LINE_END] = { "line_end",
	    "a line does not end with CR LF, or has a CR in it",
	    REASON_AMBIGUOUS },
	[HTTP1_CONTROL] = { "control", "there is a control character in it",
	    REASON_MALFORMED },
	[HTTP1_START_LINE] = { "start_line",
	    "the first line does not read as one", REASON_MALFORMED },
	[HTTP1_METHOD] = { "method",
	    "the method is not a word in upper case of usual length",
	    REASON_MALFORMED },
	[HTTP1_CONNECT] = { "connect", "CONNECT is for proxies",
	    REASON_MALFORMED },
	[HTTP1_TARGET] = { "target",
	    "the target has no form that its method may have",
	    REASON_MALFORMED },
	[HTTP1_TARGET_LONG] = { "target_long", "the target is too long",
	    REASON_MALFORMED },
	[HTTP1_VERSION] = { "version",
	    "the version is neither HTTP/1.1 nor HTTP/1.0", REASON_MALFORMED },
	[HTTP1_STATUS] = { "status", "the status is not three digits",
	    REASON_MALFORMED },
	[HTTP1_HEAD_LONG] = { "head_long", "the head is too long",
	    REASON_MALFORMED },
	[HTTP1_FIELDS] = { "fields", "there are too many fields",
	    REASON_MALFORMED },
	[HTTP1_FIELD_NAME] = { "field_name", "a field has no valid name",
	    REASON_MALFORMED },
	[HTTP1_FIELD_SPACE] = { "field_space",
	    "there is white space before a colon", REASON_AMBIGUOUS },
	[HTTP1_FOLD] = { "fold", "a line begins with white space",
	    REASON_AMBIGUOUS },
	[HTTP1_HOST_MISSING] = { "host_missing", "there is no Host",
	    REASON_MALFORMED },
	[HTTP1_HOST_TWICE] = { "host_twice", "there is more than one Host",
	    REASON_AMBIGUOUS },
	[HTTP1_HOST] = { "host", "the Host is not a host and a port",
	    REASON_MALFORMED },
	[HTTP1_HOST_DISAGREES] = { "host_disagrees",
	    "the Host is not the host of the target", REASON_AMBIGUOUS },
	[HTTP1_LENGTH] = { "length", "the Content-Length is not a number",
	    REASON_MALFORMED },
	[HTTP1_LENGTH_TWICE] = { "length_twice",
	    "there is more than one Content-Length", REASON_AMBIGUOUS },
	[HTTP1_CODING] = { "coding",
	    "the Transfer-Encoding is not just chunked", REASON_AMBIGUOUS },
	[HTTP1_CODING_VERSION] = { "coding_version",
	    "HTTP/1.0 has no Transfer-Encoding", REASON_AMBIGUOUS },
	[HTTP1_LENGTH_AND_CODING] = { "length_and_coding",
	    "there are both Content-Length and Transfer-Encoding",
	    REASON_AMBIGUOUS },
	[HTTP1_BODY] = { "body", "there is a body on a message that has none",
	    REASON_AMBIGUOUS },
};

static_assert(sizeof(faults) / sizeof(faults[0]) == HTTP1_FAULT_COUNT,
    "every fault has an id, words and a reason");

const char *
http1_fault_id(enum http1_fault fault)
{
	return faults[fault].id;
}

const char *
http1_fault_words(enum http1_fault fault)
{
	return faults[fault].words;
}

enum reason
http1_fault_reason(enum http1_fault fault)
{
	return faults[fault].reason;
}

unsigned
http1_fault_status(enum http1_fault fault)
{
	if (fault == HTTP1_TARGET_LONG)
		return 414;
	if (fault == HTTP1_HEAD_LONG || fault == HTTP1_FIELDS)
		return 431;
	return reason_entry(faults[fault].reason)->http_status;
}
