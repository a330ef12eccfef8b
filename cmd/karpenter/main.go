// Command karpenter launches nodes for pending pods, and removes nodes that are not needed.
//
// It is one binary: "karpenter controller" is what a cluster runs, the other subcommands are tools. This package is the only one
// that names the cloud providers.
package main

import (
	"os"

	"github.com/karpenter-anew/karpenter/internal/command"
)

// version is stamped at link time: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	os.Exit(run(os.Args[1:], os.LookupEnv, command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Color: command.Colors(os.Stdout, os.LookupEnv)}))
}
