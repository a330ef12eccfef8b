// Command checklist prints which tests and scenarios cover which lines of the behavior checklists, and which lines are not covered.
//
// The checklists are the text files of docs/reference/checklist. A test or subtest claims lines with t.Attr("covers", "L034 L035"),
// a scenario with its covers line. Claims are read from the source of what `make test` runs; whether a claim is true is for a
// reader to judge. Lines that are waived stand in waived.txt beside the checklists, each with the reason.
//
// The exit status is 0 when every line is covered or waived and nothing claims a line that does not exist.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// settings are the command line.
type settings struct {
	// root is the directory of the repository.
	root string
	// missing omits covered lines.
	missing bool
	// modules are the directories of the modules whose tests are run, relative to root.
	modules []string
}

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		var complete bool
		if complete, err = run(s, os.Stdout); err == nil && !complete {
			os.Exit(1)
		}
	}
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "checklist: %v\n", err)
		os.Exit(2)
	}
}

func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("checklist", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.root, "root", ".", "directory of the repository")
	flags.BoolVar(&s.missing, "missing", false, "print only what is not covered")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if s.modules = flags.Args(); len(s.modules) == 0 {
		s.modules = []string{"."}
	}
	return s, nil
}

// run reads checklists and claims, writes the coverage, and reports whether it is complete.
func run(s settings, w io.Writer) (complete bool, err error) {
	checklists := filepath.Join(s.root, "docs", "reference", "checklist")
	lists, err := readLists(checklists)
	if err != nil {
		return false, err
	}
	waived, err := readWaived(filepath.Join(checklists, waivedFile))
	if err != nil {
		return false, err
	}
	inNames := numberInName(lists)
	claims, err := scenarioClaims(s.root)
	if err != nil {
		return false, err
	}
	for _, module := range s.modules {
		more, err := testClaims(s.root, module, inNames)
		if err != nil {
			return false, err
		}
		claims = append(claims, more...)
	}
	r := newReport(lists, waived, claims)
	return r.complete(), r.write(w, s.missing)
}
