/*
 * sqltext - the SQL files of schema/audit, and a style sheet, compiled in.
 *
 * deploy/cmake/sqltext.cmake writes the tables from the files at build time.
 * Each ends in an entry whose name is NULL.
 */
#ifndef GATEWAY_AUDIT_SQLTEXT_H
#define GATEWAY_AUDIT_SQLTEXT_H

struct sqltext {
	const char *name; /* the file's, without .sql */
	const char *title; /* its first line, without the dashes */
	const char *sql;
};

extern const struct sqltext sqltext_schema[]; /* in order of their numbers */
extern const struct sqltext sqltext_rollup[];
extern const struct sqltext sqltext_seal[];
extern const struct sqltext sqltext_questions[];
extern const struct sqltext sqltext_report[];
extern const struct sqltext sqltext_fleet[]; /* for PostgreSQL */
extern const struct sqltext sqltext_style[]; /* the one style sheet */

#endif
