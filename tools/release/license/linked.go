package license

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/tools/release/program"
)

// StandardLibrary is the name of the component for the standard library of Go.
const StandardLibrary = "stdlib"

// goPackage is what "go list" says about a package.
type goPackage struct {
	Dir      string
	Standard bool
	Module   *goModule
}

// goModule is what "go list" says about a module.
type goModule struct {
	Path, Version, Dir string
	Main               bool
	Replace            *goModule
}

// Linked returns the modules that a main package of the module in root links on any of the platforms, with the standard library first, the
// others in the order of their paths. Their texts are those in the folders of linked packages and in all folders above them, up to that
// of the module, since folders with code from elsewhere have licenses beside that of the module.
func Linked(ctx context.Context, root, main string, targets ...program.Platform) ([]Component, error) {
	found, folders := map[string]Component{}, map[string]map[string]bool{}
	for _, target := range targets {
		packages, err := list(ctx, root, main, target)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			m := p.Module
			if p.Standard || m == nil || m.Main {
				continue
			}
			if m.Replace != nil {
				m = m.Replace
			}
			found[m.Dir] = Component{Name: m.Path, Version: m.Version}
			if folders[m.Dir] == nil {
				folders[m.Dir] = map[string]bool{m.Dir: true}
			}
			for dir := p.Dir; len(dir) > len(m.Dir); dir = filepath.Dir(dir) {
				folders[m.Dir][dir] = true
			}
		}
	}
	standard, err := standardLibrary(ctx, root)
	if err != nil {
		return nil, err
	}
	var out []Component
	for dir, c := range found {
		for folder := range folders[dir] {
			texts, err := textsOf(dir, folder)
			if err != nil {
				return nil, err
			}
			c.Texts = append(c.Texts, texts...)
		}
		slices.SortFunc(c.Texts, func(a, b Text) int { return cmp.Compare(a.Path, b.Path) })
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Component) int { return cmp.Compare(a.Name, b.Name) })
	return append([]Component{standard}, out...), nil
}

// standardLibrary is the library of the toolchain that builds the module in root.
func standardLibrary(ctx context.Context, root string) (Component, error) {
	text, err := goCommand(ctx, root, program.Platform{}, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return Component{}, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 {
		return Component{}, fmt.Errorf("reading GOROOT and GOVERSION of the Go command: got %q", text)
	}
	texts, err := textsOf(lines[0], lines[0])
	return Component{Name: StandardLibrary, Version: strings.TrimPrefix(lines[1], "go"), Texts: texts}, err
}

// list returns the packages that a main package links.
func list(ctx context.Context, root, main string, target program.Platform) ([]goPackage, error) {
	text, err := goCommand(ctx, root, target, "list", "-deps", "-json=Dir,Standard,Module", main)
	if err != nil {
		return nil, err
	}
	var out []goPackage
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the packages of %s: %w", main, err)
		}
		out = append(out, p)
	}
}

// goCommand runs the Go command in a folder with the settings of program.Build, and returns what it prints.
func goCommand(ctx context.Context, dir string, target program.Platform, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, program.Environment(target)
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil, fmt.Errorf("go %s in %s: %w\n%s", args[0], dir, err, exit.Stderr)
	}
	return out, err
}

// textsOf reads the licenses, notices and patent grants directly in a folder of a component.
func textsOf(component, folder string) ([]Text, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out []Text
	for _, e := range entries {
		if e.IsDir() || !isLicense(e.Name()) && !isNotice(e.Name()) {
			continue
		}
		path := filepath.Join(folder, e.Name())
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(component, path)
		if err != nil {
			return nil, err
		}
		out = append(out, Text{Path: filepath.ToSlash(name), Content: content})
	}
	return out, nil
}
