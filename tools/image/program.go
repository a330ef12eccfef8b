package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"time"
)

// program is a built Go program.
type program struct {
	text  []byte
	build *buildinfo.BuildInfo
	// architecture is GOARCH.
	architecture string
	// revision and time are those of the commit that it was built from; "" and the start of the epoch if unknown.
	revision string
	time     time.Time
}

// readProgram reads a program and its build information. The image has no dynamic loader, so a program that is not linked statically is
// refused.
func readProgram(path string) (program, error) {
	p := program{time: time.Unix(0, 0).UTC()}
	var err error
	if p.text, err = os.ReadFile(path); err != nil {
		return program{}, err
	}
	if p.build, err = buildinfo.Read(bytes.NewReader(p.text)); err != nil {
		return program{}, err
	}
	object, err := elf.NewFile(bytes.NewReader(p.text))
	if err != nil {
		return program{}, err
	}
	for _, segment := range object.Progs {
		if segment.Type == elf.PT_INTERP {
			return program{}, errors.New("the program is linked dynamically: build it with CGO_ENABLED=0")
		}
	}
	for _, s := range p.build.Settings {
		switch s.Key {
		case "GOOS":
			if s.Value != "linux" {
				return program{}, fmt.Errorf("the program is built for %s: build it with GOOS=linux", s.Value)
			}
		case "GOARCH":
			p.architecture = s.Value
		case "vcs.revision":
			p.revision = s.Value
		case "vcs.time":
			if p.time, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return program{}, fmt.Errorf("reading the time of the commit: %w", err)
			}
		}
	}
	return p, nil
}
