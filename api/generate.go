// Package api is the root of the API types; run "go generate ./api/..." after changing one of them. The CRDs of the core
// kinds are generated before those of cloud providers, which are made from them: go generate visits parent folders first.
package api

//go:generate go tool -modfile=../tools/go.mod controller-gen object:headerFile=deepcopy_header.txt paths=./...
//go:generate go run ./crds/gen
