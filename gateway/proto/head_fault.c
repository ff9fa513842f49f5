#include "gateway/proto/head_fault.h"

#include <assert.h>

static const struct {
	const char *id, *words;
	enum reason reason;
} faults[] = {
	[HEAD_FAULT_NONE] = { "none", "nothing is wrong", REASON_NONE },
	[HEAD_FAULT_LINE_END] = { "line_end",
	    "a line does not end with CR LF, or has a CR in it",
	    REASON_AMBIGUOUS },
	[HEAD_FAULT_CONTROL] = { "control",
	    "there is a control character in it", REASON_MALFORMED },
	[HEAD_FAULT_START_LINE] = { "start_line",
	    "the first line does not read as one", REASON_MALFORMED },
	[HEAD_FAULT_METHOD] = { "method",
	    "the method is not a word in upper case of usual length",
	    REASON_MALFORMED },
	[HEAD_FAULT_CONNECT] = { "connect", "CONNECT is for proxies",
	    REASON_MALFORMED },
	[HEAD_FAULT_TARGET] = { "target",
	    "the target has no form that its method may have",
	    REASON_MALFORMED },
	[HEAD_FAULT_TARGET_LONG] = { "target_long", "the target is too long",
	    REASON_MALFORMED },
	[HEAD_FAULT_VERSION] = { "version",
	    "the version is neither HTTP/1.1 nor HTTP/1.0", REASON_MALFORMED },
	[HEAD_FAULT_STATUS] = { "status", "the status is not three digits",
	    REASON_MALFORMED },
	[HEAD_FAULT_HEAD_LONG] = { "head_long", "the head is too long",
	    REASON_MALFORMED },
	[HEAD_FAULT_FIELDS] = { "fields", "there are too many fields",
	    REASON_MALFORMED },
	[HEAD_FAULT_FIELD_NAME] = { "field_name", "a field has no valid name",
	    REASON_MALFORMED },
	[HEAD_FAULT_FIELD_SPACE] = { "field_space",
	    "there is white space before a colon", REASON_AMBIGUOUS },
	[HEAD_FAULT_FOLD] = { "fold", "a line begins with white space",
	    REASON_AMBIGUOUS },
	[HEAD_FAULT_HOST_MISSING] = { "host_missing", "there is no Host",
	    REASON_MALFORMED },
	[HEAD_FAULT_HOST_TWICE] = { "host_twice", "there is more than one Host",
	    REASON_AMBIGUOUS },
	[HEAD_FAULT_HOST] = { "host", "the Host is not a host and a port",
	    REASON_MALFORMED },
	[HEAD_FAULT_HOST_DISAGREES] = { "host_disagrees",
	    "the Host is not the host of the target", REASON_AMBIGUOUS },
	[HEAD_FAULT_LENGTH] = { "length", "the Content-Length is not a number",
	    REASON_MALFORMED },
	[HEAD_FAULT_LENGTH_TWICE] = { "length_twice",
	    "there is more than one Content-Length", REASON_AMBIGUOUS },
	[HEAD_FAULT_CODING] = { "coding",
	    "the Transfer-Encoding is not just chunked", REASON_AMBIGUOUS },
	[HEAD_FAULT_CODING_VERSION] = { "coding_version",
	    "HTTP/1.0 has no Transfer-Encoding", REASON_AMBIGUOUS },
	[HEAD_FAULT_LENGTH_AND_CODING] = { "length_and_coding",
	    "there are both Content-Length and Transfer-Encoding",
	    REASON_AMBIGUOUS },
	[HEAD_FAULT_BODY] = { "body",
	    "there is a body on a message that has none", REASON_AMBIGUOUS },
	[HEAD_FAULT_PSEUDO] = { "pseudo",
	    "a pseudo-header is unknown, missing, twice or out of place",
	    REASON_MALFORMED },
	[HEAD_FAULT_FIELD_CASE] = { "field_case",
	    "the name of a field is not in lower case", REASON_MALFORMED },
	[HEAD_FAULT_HOP_FIELD] = { "hop_field",
	    "a field is about the connection, which HTTP/2 does not know",
	    REASON_AMBIGUOUS },
	[HEAD_FAULT_BLANK] = { "blank",
	    "there is white space around the value of a field",
	    REASON_MALFORMED },
	[HEAD_FAULT_LENGTH_DISAGREES] = { "length_disagrees",
	    "the Content-Length is not what came", REASON_AMBIGUOUS },
};

static_assert(sizeof(faults) / sizeof(faults[0]) == HEAD_FAULT_COUNT,
    "every fault has an id, words and a reason");

const char *
head_fault_id(enum head_fault fault)
{
	return faults[fault].id;
}

const char *
head_fault_words(enum head_fault fault)
{
	return faults[fault].words;
}

enum reason
head_fault_reason(enum head_fault fault)
{
	return faults[fault].reason;
}

unsigned
head_fault_status(enum head_fault fault)
{
	if (fault == HEAD_FAULT_TARGET_LONG)
		return 414;
	if (fault == HEAD_FAULT_HEAD_LONG || fault == HEAD_FAULT_FIELDS)
		return 431;
	return reason_entry(faults[fault].reason)->http_status;
}
