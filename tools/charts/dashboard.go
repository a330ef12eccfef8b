package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sources describe the dashboards; their layout and what all of them have in common is added here.
//
//go:embed dashboards/*.yaml
var sources embed.FS

// The grid of Grafana is 24 units wide.
const gridWidth = 24

// board is the description of a dashboard.
type board struct {
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	// Variables are names of those that it has besides datasource and cluster.
	Variables []string   `yaml:"variables"`
	Rows      []boardRow `yaml:"rows"`
}

// boardRow is a title with panels below it.
type boardRow struct {
	Title  string  `yaml:"title"`
	Panels []panel `yaml:"panels"`
}

// panel is the description of a panel. Type is timeseries by default; Orange and Red are thresholds.
type panel struct {
	Title    string   `yaml:"title"`
	About    string   `yaml:"about"`
	Type     string   `yaml:"type"`
	Unit     string   `yaml:"unit"`
	Text     string   `yaml:"text"`
	Width    int      `yaml:"width"`
	Height   int      `yaml:"height"`
	Decimals *int     `yaml:"decimals"`
	Max      *float64 `yaml:"max"`
	Orange   *float64 `yaml:"orange"`
	Red      *float64 `yaml:"red"`
	Stacked  bool     `yaml:"stacked"`
	Signed   bool     `yaml:"signed"` // values may be below zero
	Synced   bool     `yaml:"synced"` // shows 1 and 0 as words
	Queries  []query  `yaml:"queries"`
}

// query is an expression, and what its series are called.
type query struct {
	Expr    string `yaml:"expr"`
	Legend  string `yaml:"legend"`
	Instant bool   `yaml:"instant"`
}

// writeDashboards recreates the folder of the dashboards as Grafana reads them.
func writeDashboards(to string) error {
	names, err := fs.Glob(sources, "dashboards/*.yaml")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		short := strings.TrimSuffix(path.Base(name), ".yaml")
		out, err := render(short, text)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(to, short+".json"), out, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render turns a description into JSON of Grafana.
func render(name string, text []byte) ([]byte, error) {
	var b board
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&b); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	variables, err := b.variables()
	if err != nil {
		return nil, err
	}
	err = encoder.Encode(map[string]any{
		"uid": "karpenter-" + name, "title": b.Title, "description": b.Description, "tags": []string{"karpenter"},
		"editable": true, "schemaVersion": 39, "version": 1, "graphTooltip": 1, "fiscalYearStartMonth": 0,
		"refresh": "1m", "time": object{"from": "now-6h", "to": "now"}, "timezone": "browser", "timepicker": object{}, "annotations": object{"list": []any{}},
		"links": []any{object{
			"asDropdown": false, "icon": "external link", "includeVars": true, "keepTime": true, "tags": []string{"karpenter"},
			"targetBlank": false, "title": "Karpenter", "tooltip": "", "type": "dashboards", "url": "",
		}},
		"templating": object{"list": variables}, "panels": b.panels(),
	})
	return out.Bytes(), err
}

// object is a JSON object; keys are written in alphabetical order.
type object = map[string]any

// datasource is the one that the user chooses.
func datasource() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// variables are the template variables.
func (b board) variables() ([]any, error) {
	out := []any{
		object{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0, "refresh": 1, "regex": "", "includeAll": false, "multi": false, "options": []any{}},
		labelValues("cluster", "Cluster", "karpenter_build_info", true),
	}
	for _, name := range b.Variables {
		switch name {
		case "nodepool":
			out = append(out, labelValues(name, "NodePool", `karpenter_nodepools_allowed_disruptions{cluster=~"$cluster"}`, true))
		case "job":
			// Many controllers have the metrics of controller-runtime: "All" is all jobs of Karpenter only.
			out = append(out, labelValues(name, "Job", `karpenter_build_info{cluster=~"$cluster"}`, false))
		default:
			return nil, fmt.Errorf("there is no variable %q", name)
		}
	}
	return out, nil
}

// labelValues is a variable with the values of a label. If anything is true, "All" also matches series without the label.
func labelValues(name, label, series string, anything bool) object {
	text := fmt.Sprintf("label_values(%s, %s)", series, name)
	out := object{
		"name": name, "label": label, "type": "query", "datasource": datasource(), "definition": text,
		"query": object{"qryType": 1, "query": text, "refId": "PrometheusVariableQueryEditor-VariableQuery"}, "hide": 0, "refresh": 2, "regex": "", "sort": 1,
		"includeAll": true, "multi": true, "options": []any{}, "current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
	}
	if anything {
		out["allValue"] = ".*"
	}
	return out
}

// panels places the panels from left to right, below the title of their row.
func (b board) panels() []any {
	var out []any
	y := 0
	for _, row := range b.Rows {
		out = append(out, object{"id": len(out) + 1, "type": "row", "title": row.Title, "collapsed": false, "panels": []any{}, "gridPos": grid(0, y, gridWidth, 1)})
		y++
		x, tallest := 0, 0
		for _, p := range row.Panels {
			width, height := p.size()
			if x+width > gridWidth {
				x, y, tallest = 0, y+tallest, 0
			}
			out = append(out, p.json(len(out)+1, grid(x, y, width, height)))
			x, tallest = x+width, max(tallest, height)
		}
		y += tallest
	}
	return out
}

func grid(x, y, w, h int) object { return object{"x": x, "y": y, "w": w, "h": h} }
