// Package program builds Go programs so that the same commit gives the same bytes, and reads what the linker recorded in them.
package program

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Program is a built Go program.
type Program struct {
	// Content are its bytes.
	Content []byte
	// Build is what the linker recorded.
	Build *buildinfo.BuildInfo
	// OS and Architecture are GOOS and GOARCH.
	OS, Architecture string
	// Revision and Time are those of the commit that it was built from; "" and the start of the epoch if unknown.
	Revision string
	Time     time.Time
}

// Platform is a target of the compiler.
type Platform struct{ OS, Architecture string }

// String is OS/ARCHITECTURE.
func (p Platform) String() string { return p.OS + "/" + p.Architecture }

// Build builds the main package in the folder cmd/NAME of a module into the file out. The version is stamped into the variable
// main.version; the Go command adds the commit, if it finds one. Symbols and local paths are left out. Settings of the environment
// that would change the result do not count.
func Build(ctx context.Context, root, name, version, out string, target Platform) (Program, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w -X main.version="+version, "-o", out, "./cmd/"+name)
	cmd.Dir = root
	cmd.Env = Environment(target)
	if text, err := cmd.CombinedOutput(); err != nil {
		return Program{}, fmt.Errorf("building %s for %s: %w\n%s", filepath.Join(root, "cmd", name), target, err, text)
	}
	return Read(out)
}

// Environment is the environment of Go commands for a platform, which for the zero value is the local one. It overrides the settings of
// this process that would change what is built.
func Environment(target Platform) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+target.OS, "GOARCH="+target.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
}

// Read reads a program and its build information. Images and archives have no libraries, so a program that is not linked statically is
// refused.
func Read(path string) (Program, error) {
	p := Program{Time: time.Unix(0, 0).UTC()}
	var err error
	if p.Content, err = os.ReadFile(path); err != nil {
		return Program{}, err
	}
	if p.Build, err = buildinfo.Read(bytes.NewReader(p.Content)); err != nil {
		return Program{}, fmt.Errorf("reading the build information of %s: %w", path, err)
	}
	for _, s := range p.Build.Settings {
		switch s.Key {
		case "GOOS":
			p.OS = s.Value
		case "GOARCH":
			p.Architecture = s.Value
		case "vcs.revision":
			p.Revision = s.Value
		case "vcs.time":
			if p.Time, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return Program{}, fmt.Errorf("reading the time of the commit of %s: %w", path, err)
			}
		}
	}
	if p.OS == "linux" {
		err = static(p.Content)
	}
	return p, err
}

// static checks that a program for Linux needs no dynamic loader.
func static(content []byte) error {
	object, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return err
	}
	for _, segment := range object.Progs {
		if segment.Type == elf.PT_INTERP {
			return errors.New("the program is linked dynamically: build it with CGO_ENABLED=0")
		}
	}
	return nil
}
