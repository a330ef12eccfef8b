// Package examples has the example manifests, for the demonstration in the binary.
package examples

import "embed"

// Kwok are the manifests for simulated nodes, in the folder kwok.
//
//go:embed kwok/nodeclass.yaml kwok/nodepool.yaml kwok/inflate.yaml
var Kwok embed.FS
