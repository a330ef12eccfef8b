// Command mutants breaks the controllers, one place at a time, and reports which breaks the simulation of package sim notices.
//
// A mutant is a file in testdata: what it is about, the file that it changes, and the text before and after. The simulation is compiled with
// the changed file (go test -overlay) and runs seed after seed until an invariant does not hold, or the time is over.
//
// Usage, from the root of the repository: go run ./test/sim/mutants [-time 10m] [-hours 0.5] [REGEXP]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// mutant is a change to one file.
type mutant struct {
	name, about, file, before, after string
}

func main() {
	limit := flag.Duration("time", 10*time.Minute, "how long each mutant is simulated")
	hours := flag.Float64("hours", 0.5, "simulated hours with faults of each seed")
	flag.Parse()
	if err := run(os.Stdout, flag.Arg(0), *limit, *hours); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(to io.Writer, which string, limit time.Duration, hours float64) error {
	wanted, err := regexp.Compile(which)
	if err != nil {
		return fmt.Errorf("which mutants: %w", err)
	}
	files, err := filepath.Glob("test/sim/mutants/testdata/*.txtar")
	if err != nil {
		return fmt.Errorf("finding mutants: %w", err)
	}
	killed, all := 0, 0
	for _, path := range files {
		m, err := read(path)
		if err != nil {
			return err
		}
		if !wanted.MatchString(m.name) {
			continue
		}
		all++
		took, by, err := kill(m, limit, hours)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if by == "" {
			by = "SURVIVES: " + m.about
		} else {
			killed++
		}
		_, _ = fmt.Fprintf(to, "%-40s %8s  %s\n", m.name, took.Round(time.Second), by)
	}
	if all == 0 {
		return errors.New("no mutant has such a name")
	}
	_, _ = fmt.Fprintf(to, "%d of %d mutants killed (%.0f %%)\n", killed, all, 100*float64(killed)/float64(all))
	return nil
}

// read reads a mutant. The files of the archive are before and after; the comment has what it is about, and in its last line the file.
func read(path string) (mutant, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return mutant{}, fmt.Errorf("reading %s: %w", path, err)
	}
	lines := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
	m := mutant{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), about: strings.Join(lines[:len(lines)-1], " "), file: lines[len(lines)-1]}
	for _, f := range archive.Files {
		switch f.Name {
		case "before":
			m.before = strings.TrimRight(string(f.Data), "\n")
		case "after":
			m.after = strings.TrimRight(string(f.Data), "\n")
		default:
			return mutant{}, fmt.Errorf("%s: the part %q: want before and after", path, f.Name)
		}
	}
	if m.before == "" {
		return mutant{}, fmt.Errorf("%s: the part before is empty", path)
	}
	return m, nil
}

// applied is the content of the mutant's file with the change.
func (m mutant) applied() ([]byte, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return nil, fmt.Errorf("reading the file to change: %w", err)
	}
	if n := bytes.Count(text, []byte(m.before)); n != 1 {
		return nil, fmt.Errorf("%s has the text before %d times, want once: change the mutant with the code", m.file, n)
	}
	return bytes.Replace(text, []byte(m.before), []byte(m.after), 1), nil
}

// kill runs seeds with the mutant until one fails. It returns after how long, and the invariant that failed; "" if none did.
func kill(m mutant, limit time.Duration, hours float64) (time.Duration, string, error) {
	folder, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return 0, "", fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	text, err := m.applied()
	if err != nil {
		return 0, "", err
	}
	root, err := os.Getwd()
	if err != nil {
		return 0, "", fmt.Errorf("finding the repository: %w", err)
	}
	changed, overlay, program := filepath.Join(folder, "changed.go"), filepath.Join(folder, "overlay.json"), filepath.Join(folder, "sim.test")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): changed}})
	if err != nil {
		return 0, "", fmt.Errorf("writing the overlay: %w", err)
	}
	if err := errors.Join(os.WriteFile(changed, text, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return 0, "", fmt.Errorf("writing the mutant: %w", err)
	}
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", program, "./test/sim").CombinedOutput(); err != nil { //nolint:gosec // arguments of this command
		return 0, "", fmt.Errorf("compiling: %w\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	began := time.Now()
	for seed := 1; ; seed++ {
		c := exec.CommandContext(ctx, program, "-test.run=^TestInvariants$", fmt.Sprintf("-seed=%d", seed), "-seeds=1", fmt.Sprintf("-hours=%v", hours)) //nolint:gosec // arguments of this command
		out, err := c.CombinedOutput()
		if ctx.Err() != nil {
			return time.Since(began), "", nil
		}
		if err != nil {
			return time.Since(began), fmt.Sprintf("seed %d: %s", seed, reason(out)), nil
		}
	}
}

// reason is the first violation in the output, or its last line.
func reason(out []byte) string {
	if found := regexp.MustCompile(`step \d+ ([^\n]*)`).FindSubmatch(out); found != nil {
		return string(found[1][:min(len(found[1]), 120)])
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "panic:") {
			return strings.TrimSpace(line)
		}
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[0]
}
