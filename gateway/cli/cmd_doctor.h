/*
 * cmd_doctor - exeat doctor: what this machine allows, step by step, and the
 * exact cure where it does not.
 */
#ifndef GATEWAY_CLI_CMD_DOCTOR_H
#define GATEWAY_CLI_CMD_DOCTOR_H

#include "gateway/cli/command.h"

extern const struct command cmd_doctor;

#endif
