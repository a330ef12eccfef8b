// Package scenariofile reads scenarios: one behaviour each, in a small txtar file that a user can read and several tests run.
//
// The text before the first file says in plain sentences what a user would expect. A line "covers: L063, L066" in it names
// the lines of the behaviour checklist that the scenario shows. The files are
//
//	-- input.yaml --     the objects, as they would be applied to a cluster (any number of .yaml files)
//	-- options --        settings that differ from the defaults, one "key: value" a line (may be missing)
//	-- plan --           what Karpenter should do about them
//
// A scenario about disruption has, instead of a plan,
//
//	-- nodes --          nodes with the pods on them, one a line
//	-- later.yaml --     objects that are created or replaced while the first commands wait (may be missing)
//	-- later --          nodes and pods that change at the same time (may be missing)
//	-- disrupt --        the commands, and for every other node why it is left alone
//
// Source: scheduling specification, behaviour checklist; disruption specification.
package scenariofile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// The names of the files with expectations: a plan, or disruption.
const (
	planFile    = "plan"
	disruptFile = "disrupt"
)

// defaultRun is how long a scenario about disruption runs: long enough for the first decisions, too short for their validation.
const defaultRun = 10 * time.Second

// Scenario is one behaviour: objects, settings and the expected plan.
type Scenario struct {
	// Name is the file's name without extension.
	Name string
	// Path is where the scenario was read from.
	Path string
	// Comment is the text before the first file without the covers line.
	Comment string
	// Covers are the lines of the behaviour checklist that the scenario shows, such as "L063".
	Covers []string
	// Options are the settings of the scenario.
	Options Options
	// Inputs are the YAML files, in the order they appear.
	Inputs []Input
	// Plan is the expected plan; empty for scenarios about disruption.
	Plan string
	// Nodes describes nodes with their pods, Disrupt what disruption should do about them; empty for other scenarios.
	Nodes, Disrupt string
	// Later are YAML files, and LaterNodes changes of nodes, that are applied while the first commands wait.
	Later      []Input
	LaterNodes string

	archive *txtar.Archive
}

// Input is one YAML file of a scenario.
type Input struct {
	Name string
	YAML []byte
}

// Options are the settings of a scenario. Zero values are the defaults of the controller.
type Options struct {
	// Catalog names the instance types of the simulated cloud: "catalog: aws/us-east-1".
	Catalog string
	// PreferencePolicy is "preference-policy: Ignore".
	PreferencePolicy string
	// BestEffortMinValues is "min-values-policy: BestEffort".
	BestEffortMinValues bool
	// AllocateDevices is "ignore-dra-requests: false".
	AllocateDevices bool
	// SchedulerConfig is "scheduler-config: {podTopologySpread: …}", all in one line.
	SchedulerConfig string
	// MaxInstanceTypes is "max-instance-types: 10".
	MaxInstanceTypes int
	// CompareTolerations is "compare-tolerations: true".
	CompareTolerations bool
	// EngineOnly is set by "only: engine, because …": the scenario cannot run on a real cluster, for the reason given.
	EngineOnly string
	// Kubernetes is the first minor version of Kubernetes 1 whose control plane can run the scenario: "kubernetes: 1.36". Before that, the
	// API server drops a field of it by default.
	Kubernetes int

	// Now is when the scenario begins: "now: 2026-03-02T12:00:00Z".
	Now time.Time
	// Run is how long disruption is watched: "run: 20s".
	Run time.Duration
	// ConsolidateAfterScope is "consolidate-after-scope: Source".
	ConsolidateAfterScope string
	// SpotToSpot is "spot-to-spot: true".
	SpotToSpot bool
	// NodeRepair is "node-repair: true" or "node-repair: unlimited": repair policies have no termination grace period then.
	NodeRepair, UnlimitedRepair bool
	// TerminateFirst is "terminate-first: true": drifted and unhealthy nodes are terminated before their replacements launch, where there is
	// no capacity for both.
	TerminateFirst bool
	// DeletionCostManagement is "deletion-cost-management: true".
	DeletionCostManagement bool
	// Reservations are those of the cloud: "reservation: cr-a c-4x-amd64-linux test-zone-a 0", in one line each, has the ID, the instance type,
	// the zone and how many instances are left; "unavailable" after that makes it so.
	Reservations []Reservation
	// FailReplacements is "replacements: fail": replacement nodes never become ready.
	FailReplacements bool
}

// Reservation is a capacity reservation.
type Reservation struct {
	ID, InstanceType, Zone string
	// Left is how many instances can be launched from it.
	Left int
	// Unavailable is set if instances of the type cannot be launched from it, whatever is left.
	Unavailable bool
}

func parseReservation(text string) (r Reservation, err error) {
	words := strings.Fields(text)
	if len(words) == 5 && words[4] == "unavailable" {
		r.Unavailable, words = true, words[:4]
	}
	if len(words) != 4 {
		return r, fmt.Errorf("%q: want an ID, an instance type, a zone, how many instances are left, and maybe unavailable", text)
	}
	r.ID, r.InstanceType, r.Zone = words[0], words[1], words[2]
	r.Left, err = strconv.Atoi(words[3])
	return r, err
}

// Load reads the scenarios of a directory that have a plan, sorted by name.
func Load(dir string) ([]Scenario, error) {
	all, err := load(dir)
	return slices.DeleteFunc(all, func(s Scenario) bool { return s.Nodes != "" }), err
}

// LoadDisruption reads the scenarios of a directory that are about disruption, sorted by name.
func LoadDisruption(dir string) ([]Scenario, error) {
	all, err := load(dir)
	return slices.DeleteFunc(all, func(s Scenario) bool { return s.Nodes == "" }), err
}

func load(dir string) ([]Scenario, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("directory %s holds no scenarios", dir)
	}
	slices.Sort(paths)
	out := make([]Scenario, 0, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, err := Parse(path, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Parse reads one scenario.
func Parse(path string, text []byte) (Scenario, error) {
	s := Scenario{
		Name:    strings.TrimSuffix(filepath.Base(path), ".txtar"),
		Path:    path,
		archive: txtar.Parse(text),
	}
	if err := s.readComment(); err != nil {
		return Scenario{}, err
	}
	seen := map[string]bool{}
	for _, f := range s.archive.Files {
		if seen[f.Name] {
			return Scenario{}, fmt.Errorf("file %q appears twice", f.Name)
		}
		seen[f.Name] = true
		switch {
		case f.Name == "later.yaml":
			s.Later = append(s.Later, Input{f.Name, f.Data})
		case strings.HasSuffix(f.Name, ".yaml"):
			s.Inputs = append(s.Inputs, Input{f.Name, f.Data})
		case f.Name == "options":
			if err := s.Options.read(string(f.Data)); err != nil {
				return Scenario{}, err
			}
		case f.Name == planFile:
			s.Plan = string(f.Data)
		case f.Name == "nodes":
			s.Nodes = string(f.Data)
		case f.Name == "later":
			s.LaterNodes = string(f.Data)
		case f.Name == disruptFile:
			s.Disrupt = string(f.Data)
		default:
			return Scenario{}, fmt.Errorf("file %q: want *.yaml, options and plan, or nodes, later and disrupt", f.Name)
		}
	}
	if s.Nodes != "" && s.Options.Run == 0 {
		s.Options.Run = defaultRun
	}
	if s.Plan != "" && s.Nodes != "" {
		return Scenario{}, fmt.Errorf("a scenario has a plan or nodes, not both")
	}
	if len(s.Inputs) == 0 {
		return Scenario{}, fmt.Errorf("there is no .yaml file")
	}
	return s, nil
}

var (
	coversLine = regexp.MustCompile(`(?m)^covers: (.*)\n?`)
	coversName = regexp.MustCompile(`^[A-Z]+\d{3}$`)
	optionLine = regexp.MustCompile(`(?m)^(catalog|only|now|run): .*$`)
)

func (s *Scenario) readComment() error {
	comment := string(s.archive.Comment)
	for _, m := range coversLine.FindAllStringSubmatch(comment, -1) {
		for _, line := range strings.Split(m[1], ",") {
			line = strings.TrimSpace(line)
			if !coversName.MatchString(line) {
				return fmt.Errorf("covers: %q is not the number of a checklist line such as L063", line)
			}
			s.Covers = append(s.Covers, line)
		}
	}
	s.Comment = strings.TrimSpace(coversLine.ReplaceAllString(comment, ""))
	if s.Comment == "" {
		return fmt.Errorf("the comment is missing: say what a user would expect")
	}
	if line := optionLine.FindString(s.Comment); line != "" {
		return fmt.Errorf("%q is in the comment: it belongs below -- options --", line)
	}
	return nil
}

func (o *Options) read(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return fmt.Errorf("options: %q: want key: value", line)
		}
		if err := o.set(key, strings.TrimSpace(value)); err != nil {
			return fmt.Errorf("options: %s: %w", key, err)
		}
	}
	return nil
}

func (o *Options) set(key, value string) (err error) {
	switch key {
	case "catalog":
		o.Catalog = value
	case "preference-policy":
		o.PreferencePolicy, err = oneOf(value, "Respect", "Economical", "Ignore")
	case "min-values-policy":
		value, err = oneOf(value, "Strict", "BestEffort")
		o.BestEffortMinValues = value == "BestEffort"
	case "ignore-dra-requests":
		value, err = oneOf(value, "true", "false")
		o.AllocateDevices = value == "false"
	case "scheduler-config":
		o.SchedulerConfig = value
	case "max-instance-types":
		o.MaxInstanceTypes, err = strconv.Atoi(value)
	case "now":
		o.Now, err = time.Parse(time.RFC3339, value)
	case "run":
		o.Run, err = time.ParseDuration(value)
	case "consolidate-after-scope":
		o.ConsolidateAfterScope = value
	case "compare-tolerations":
		o.CompareTolerations, err = strconv.ParseBool(value)
	case "spot-to-spot":
		o.SpotToSpot, err = strconv.ParseBool(value)
	case "node-repair":
		value, err = oneOf(value, "true", "unlimited")
		o.NodeRepair, o.UnlimitedRepair = true, value == "unlimited"
	case "terminate-first":
		o.TerminateFirst, err = strconv.ParseBool(value)
	case "deletion-cost-management":
		o.DeletionCostManagement, err = strconv.ParseBool(value)
	case "reservation":
		var r Reservation
		r, err = parseReservation(value)
		o.Reservations = append(o.Reservations, r)
	case "replacements":
		_, err = oneOf(value, "fail")
		o.FailReplacements = true
	case "only":
		reason, ok := strings.CutPrefix(value, "engine, because ")
		if !ok || reason == "" {
			return fmt.Errorf("%q: want engine, because <reason>", value)
		}
		o.EngineOnly = reason
	case "kubernetes":
		minor, ok := strings.CutPrefix(value, "1.")
		if o.Kubernetes, err = strconv.Atoi(minor); !ok || err != nil {
			return fmt.Errorf("%q: want a version such as 1.36", value)
		}
	default:
		return fmt.Errorf("unknown; known are catalog, preference-policy, min-values-policy, ignore-dra-requests, scheduler-config, max-instance-types, compare-tolerations, now, run, consolidate-after-scope, spot-to-spot, node-repair, terminate-first, deletion-cost-management, reservation, replacements, only, kubernetes")
	}
	return err
}

// oneOf returns the value, and an error unless it is one of those wanted.
func oneOf(value string, want ...string) (string, error) {
	if !slices.Contains(want, value) {
		return "", fmt.Errorf("%q: want %s", value, strings.Join(want, " or "))
	}
	return value, nil
}

// WithPlan is the text of the scenario with another plan.
func (s Scenario) WithPlan(plan string) []byte { return s.with(planFile, plan) }

// WithDisrupt is the text of the scenario with other commands.
func (s Scenario) WithDisrupt(commands string) []byte { return s.with(disruptFile, commands) }

// with is the text of the scenario with another last file.
func (s Scenario) with(name, text string) []byte {
	archive := &txtar.Archive{Comment: s.archive.Comment}
	for _, f := range s.archive.Files {
		if f.Name != name {
			archive.Files = append(archive.Files, f)
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
	return txtar.Format(archive)
}

// Renamed is the scenario with old replaced by replacement everywhere in its objects and its plan. Renaming the domain of
// custom labels must not change what is done.
func (s Scenario) Renamed(old, replacement string) Scenario {
	inputs := slices.Clone(s.Inputs)
	for i := range inputs {
		inputs[i].YAML = bytes.ReplaceAll(inputs[i].YAML, []byte(old), []byte(replacement))
	}
	s.Inputs, s.Plan = inputs, strings.ReplaceAll(s.Plan, old, replacement)
	return s
}
