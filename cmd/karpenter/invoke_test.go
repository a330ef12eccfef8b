package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// invoke runs the program without the environment of the host.
func invoke(stdin string, args ...string) commandtest.Outcome {
	var stdout, stderr bytes.Buffer
	code := run(args, commandtest.NoEnv, command.Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr})
	return commandtest.Outcome{Exit: fmt.Sprintln(code), Stdout: stdout.String(), Stderr: stderr.String()}
}
