package alerts

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// chosen is the data source that the user chooses.
const chosen = "${datasource}"

// board is the part of a dashboard that is checked here.
type board struct {
	UID           string  `json:"uid"`
	Title         string  `json:"title"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []struct {
			Name       string `json:"name"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
}

type panel struct {
	ID          int                                      `json:"id"`
	Type        string                                   `json:"type"`
	Title       string                                   `json:"title"`
	GridPos     struct{ X, Y, W, H int }                 `json:"gridPos"`
	Targets     []target                                 `json:"targets"`
	FieldConfig struct{ Defaults struct{ Unit string } } `json:"fieldConfig"`
}

type target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
}

// boards are the dashboards by file name, and their texts.
func boards(t *testing.T) (map[string]board, map[string][]byte) {
	t.Helper()
	names, err := filepath.Glob("../../charts/karpenter/dashboards/*.json")
	if err != nil || len(names) != 4 {
		t.Fatalf("%d dashboards, %v", len(names), err)
	}
	out, texts := map[string]board{}, map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var b board
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[filepath.Base(name)], texts[filepath.Base(name)] = b, text
	}
	return out, texts
}

// grafana replaces what Grafana replaces in expressions, as if all values of variables were chosen.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$cluster", ".*", "$nodepool", ".*", "$job", ".*")

// TestDashboardsAskForWhatThereIs: expressions can be parsed, metrics and labels exist, also those in names of series and of variables.
func TestDashboardsAskForWhatThereIs(t *testing.T) {
	known := metrics(t)
	all, _ := boards(t)
	queries := 0
	for name, b := range all {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				queries++
				text := grafana.Replace(q.Expr)
				if strings.Contains(text, "$") {
					t.Errorf("%s: %s: an unknown variable is left: %s", name, p.Title, text)
				}
				for _, what := range unknown(parse(t, text), known, targetLabels...) {
					t.Errorf("%s: %s: %s: %s", name, p.Title, q.Expr, what)
				}
			}
		}
		for _, v := range b.Templating.List {
			if v.Definition == "" {
				continue
			}
			parts := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition)
			if parts == nil {
				t.Fatalf("%s: variable %s is defined by %s", name, v.Name, v.Definition)
			}
			for _, what := range unknown(parse(t, "count by ("+parts[2]+") ("+grafana.Replace(parts[1])+")"), known, targetLabels...) {
				t.Errorf("%s: variable %s: %s", name, v.Name, what)
			}
		}
	}
	if queries < 80 {
		t.Errorf("%d queries were found", queries)
	}
}

// schemaProblems are what is wrong with a dashboard by the schema of Grafana; an unknown or missing field is an error.
func schemaProblems(text []byte) error {
	var d dashboard.Dashboard //nolint:staticcheck // deprecated for version 2, which Grafana before 12 and its sidecar do not read
	err := d.UnmarshalJSONStrict(text)
	// The library returns empty lists of errors.
	if several := (cog.BuildErrors{}); errors.As(err, &several) && len(several) == 0 {
		err = nil
	}
	if err != nil {
		return err
	}
	return d.Validate()
}

// TestDashboardsAreOfTheSchemaOfGrafana also shows that a wrong field of a panel is noticed.
func TestDashboardsAreOfTheSchemaOfGrafana(t *testing.T) {
	_, texts := boards(t)
	for name, text := range texts {
		if err := schemaProblems(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, wrong := range [][2]string{{`"gridPos":`, `"gridpos":`}, {`"schemaVersion":`, `"schema":`}} {
			changed := strings.Replace(string(text), wrong[0], wrong[1], 1)
			if err := schemaProblems([]byte(changed)); err == nil {
				t.Errorf("%s: %s is accepted", name, wrong[1])
			}
		}
	}
}

// TestDashboardsAreReadable: panels have an identity, a title and a unit, and are inside the grid, and none covers another.
func TestDashboardsAreReadable(t *testing.T) {
	all, texts := boards(t)
	uids := map[string]string{}
	for name, b := range all {
		if other := uids[b.UID]; b.UID == "" || len(b.UID) > 40 || other != "" {
			t.Errorf("%s and %s have the UID %q", name, other, b.UID)
		}
		uids[b.UID] = name
		if b.Title == "" || b.SchemaVersion < 36 {
			t.Errorf("%s: title %q, schema version %d", name, b.Title, b.SchemaVersion)
		}
		if problems := layoutProblems(b.Panels); len(problems) > 0 {
			t.Errorf("%s: %s", name, strings.Join(problems, "; "))
		}
		for _, p := range b.Panels {
			if p.Title == "" || (p.Type != "row" && p.Type != "text") == (p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0) {
				t.Errorf("%s: panel %d, %q, of type %s has unit %q and %d queries", name, p.ID, p.Title, p.Type, p.FieldConfig.Defaults.Unit, len(p.Targets))
			}
		}
		var tree any
		if err := json.Unmarshal(texts[name], &tree); err != nil {
			t.Fatal(err)
		}
		for _, uid := range dataSources(tree) {
			if uid != chosen {
				t.Errorf("%s: the data source %v is not the one that the user chooses", name, uid)
			}
		}
	}
}

// layoutProblems lists panels with the same ID, outside the grid, or on top of each other.
func layoutProblems(panels []panel) []string {
	var out []string
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range panels {
		if p.ID == 0 || ids[p.ID] {
			out = append(out, p.Title+" has the ID of another panel")
		}
		ids[p.ID] = true
		at := p.GridPos
		if at.W < 1 || at.H < 1 || at.X < 0 || at.X+at.W > 24 {
			out = append(out, p.Title+" is outside the grid")
		}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" && !slices.Contains(out, p.Title+" covers "+other) {
					out = append(out, p.Title+" covers "+other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	return out
}

// TestWrongLayoutsAreNoticed shows that the check of layouts can fail.
func TestWrongLayoutsAreNoticed(t *testing.T) {
	at := func(id int, title string, x, y, w, h int) panel {
		return panel{ID: id, Title: title, GridPos: struct{ X, Y, W, H int }{x, y, w, h}}
	}
	got := layoutProblems([]panel{at(1, "a", 0, 0, 12, 8), at(1, "b", 12, 0, 12, 8), at(2, "c", 11, 7, 1, 1), at(3, "d", 20, 8, 5, 1)})
	want := []string{"b has the ID of another panel", "c covers a", "d is outside the grid"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// dataSources are the UIDs of all data sources.
func dataSources(tree any) []any {
	var out []any
	switch n := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(n)) {
			if source, ok := n[key].(map[string]any); ok && key == "datasource" {
				out = append(out, source["uid"])
			} else if key == "datasource" {
				out = append(out, n[key])
			}
			out = append(out, dataSources(n[key])...)
		}
	case []any:
		for _, one := range n {
			out = append(out, dataSources(one)...)
		}
	}
	return out
}
