// Command karpenter provisions nodes for pods that have no place, and removes nodes that are not needed.
//
// It is one binary: "karpenter controller" is what a cluster runs, the other subcommands are tools beside it. This package is the only
// one that knows the cloud adapters.
package main

import "os"

// version is stamped at link time: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	os.Exit(run(os.Args[1:], os.LookupEnv, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
