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
	// GoVersion and GoArch are those of the compiler.
	GoVersion, GoArch string
}

// ReadBuild describes the running binary. stamped is the version given at link time; when empty, the module version is used.
func ReadBuild(stamped string) Build {
	out := Build{Version: stamped, GoVersion: runtime.Version(), GoArch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		if out.Version == "" && info.Main.Version != "(devel)" {
			out.Version = info.Main.Version
		}
		out.Commit = commit(info.Settings)
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
