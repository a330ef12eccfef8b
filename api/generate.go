// Package api is the root of the wire types; run "go generate ./api" after changing one of them.
package api

//go:generate go tool -modfile=../tools/go.mod controller-gen object:headerFile=deepcopy_header.txt paths=./...
//go:generate go run ./crds/gen
