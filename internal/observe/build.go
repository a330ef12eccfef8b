package observe

import (
	"runtime"
	"runtime/debug"
)

// Build identifies the running binary.
type Build struct {
	// Version is the release, or "unspecified".
	Version string
	// Commit is the short revision, with "-dirty" when the tree was modified; empty when unknown.
	Commit string
	// Date is when the revision was committed, in RFC 3339; empty when unknown.
	Date string
	// GoVersion is that of the compiler, GoOS and GoArch the platform that it compiled for.
	GoVersion, GoOS, GoArch string
	// KubernetesLibrary is the version of the Kubernetes client in the binary, such as "v0.37.2" for the libraries of Kubernetes 1.37.2; empty
	// when unknown.
	KubernetesLibrary string
}

// NewestKubernetes is the newest minor version of Kubernetes that the tests run against.
const NewestKubernetes = "1.37"

// ReadBuild describes the running binary. stamped is the version given at link time; when empty, the module version is used.
func ReadBuild(stamped string) Build {
	out := Build{Version: stamped, GoVersion: runtime.Version(), GoOS: runtime.GOOS, GoArch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		if out.Version == "" && info.Main.Version != "(devel)" {
			out.Version = info.Main.Version
		}
		out.Commit, out.Date = commit(info.Settings), date(info.Settings)
		out.KubernetesLibrary = dependency(info.Deps, "k8s.io/client-go")
	}
	if out.Version == "" {
		out.Version = "unspecified"
	}
	return out
}

// commit shortens the revision that the compiler recorded.
func commit(settings []debug.BuildSetting) string {
	var revision, dirty string
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(7, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "-dirty"
			}
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}

// date is the time of the revision that the compiler recorded.
func date(settings []debug.BuildSetting) string {
	for _, s := range settings {
		if s.Key == "vcs.time" {
			return s.Value
		}
	}
	return ""
}

// dependency is the version of a module that the binary is built with.
func dependency(modules []*debug.Module, path string) string {
	for _, m := range modules {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}
