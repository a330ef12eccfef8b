package shadow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Version is the version of the schema of reports.
const Version = "v1"

// Report compares two fleets. docs/shadow.md describes the fields; a field may be added under the same version, but none changes its meaning or
// is removed.
type Report struct {
	// Version is that of the schema, Kind is ShadowReport.
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// From and To are the period that was watched.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Incumbent is the fleet of the controller that runs in the cluster, Shadow that of this one in the mirror.
	Incumbent Side `json:"incumbent"`
	Shadow    Side `json:"shadow"`
	// Agreement is the share of nodes that both fleets have in common, from 0 to 1, now and on average over the period: nodes with the same
	// NodePool, instance type and capacity type.
	Agreement        float64 `json:"agreement"`
	AverageAgreement float64 `json:"averageAgreement"`
	// Series are samples of both fleets, oldest first, at most 1 000, at equal distances.
	Series []Point `json:"series"`
	// Unknown is what the comparison leaves out.
	Unknown []string `json:"unknown"`
}

// Side is one of the fleets.
type Side struct {
	Sample
	// Dollars are what the fleet cost in the period, NodeHours how long nodes were there.
	Dollars   float64 `json:"dollars"`
	NodeHours float64 `json:"nodeHours"`
	// UnpricedNodeHours are those of nodes whose price was not known. They are not part of Dollars.
	UnpricedNodeHours float64 `json:"unpricedNodeHours"`
	// Launched and Removed count nodes.
	Launched int `json:"launched"`
	Removed  int `json:"removed"`
	// Waits are how long pods had no node, those that were moved included.
	Waits Waits `json:"waits"`
}

// Waits are times without a node, in seconds. They are measured once a second.
type Waits struct {
	Pods    int     `json:"pods"`
	Mean    float64 `json:"mean"`
	P50     float64 `json:"p50"`
	P95     float64 `json:"p95"`
	Longest float64 `json:"longest"`
}

// Point is a sample of both fleets.
type Point struct {
	At        time.Time `json:"at"`
	Incumbent Sample    `json:"incumbent"`
	Shadow    Sample    `json:"shadow"`
	Agreement float64   `json:"agreement"`
}

// maxPoints is the most points of a series; then every second one is dropped.
const maxPoints = 1000

// Comparison measures two clusters over time.
type Comparison struct {
	prices            Prices
	incumbent, shadow *fleet
	from, to          time.Time
	agreement         float64 // integral over time, in seconds
	current           float64
	series            []Point
	spacing           time.Duration
}

// NewComparison begins a comparison.
func NewComparison(prices Prices) *Comparison {
	return &Comparison{prices: prices, incumbent: newFleet(), shadow: newFleet(), spacing: time.Second}
}

// Measure takes a sample of both clusters.
func (c *Comparison) Measure(real, mirror Cluster, now time.Time) {
	since := time.Duration(0)
	if c.from.IsZero() {
		c.from = now
	} else {
		since = now.Sub(c.to)
	}
	c.to = now
	c.agreement += c.current * since.Seconds()
	c.incumbent.measure(real, c.prices, now, since)
	c.shadow.measure(mirror, c.prices, now, since)
	c.current = common(c.incumbent.bundles, c.shadow.bundles)
	if n := len(c.series); n > 0 && now.Sub(c.series[n-1].At) < c.spacing {
		return
	}
	c.series = append(c.series, Point{At: now, Incumbent: c.incumbent.now, Shadow: c.shadow.now, Agreement: c.current})
	if len(c.series) > maxPoints {
		kept := (len(c.series) + 1) / 2 // the first and the last among them
		for i := range kept {
			c.series[i] = c.series[2*i]
		}
		c.series = c.series[:kept]
		c.spacing *= 2
	}
}

// Report is the comparison until now. left counts what the mirror leaves out, notes are more of what it does not know.
func (c *Comparison) Report(left map[string]int, notes []string) Report {
	out := Report{
		Version: Version, Kind: "ShadowReport", From: c.from, To: c.to, Incumbent: c.incumbent.side(), Shadow: c.shadow.side(),
		Agreement: c.current, AverageAgreement: c.current, Series: slices.Clone(c.series), Unknown: slices.Clone(notes),
	}
	if period := c.to.Sub(c.from).Seconds(); period > 0 {
		out.AverageAgreement = c.agreement / period
	}
	for _, what := range slices.Sorted(maps.Keys(left)) {
		out.Unknown = append(out.Unknown, fmt.Sprintf("left out: %d %s", left[what], what))
	}
	return out
}

func (f *fleet) side() Side {
	w := &f.waits
	out := Side{Sample: f.now, Dollars: f.dollars, NodeHours: f.hours, UnpricedNodeHours: f.unpriced, Launched: f.launched, Removed: f.removed}
	out.Waits = Waits{Pods: w.count, Mean: w.sum / max(float64(w.count), 1), P50: w.quantile(0.5), P95: w.quantile(0.95), Longest: w.longest}
	return out
}

// Line is one line about now, for a log.
func (r Report) Line() string {
	return fmt.Sprintf("incumbent %d nodes $%.4f/h, %d pods waiting · shadow %d nodes $%.4f/h, %d pods waiting · agreement %.0f %%",
		r.Incumbent.Nodes, r.Incumbent.PricePerHour, r.Incumbent.Waiting, r.Shadow.Nodes, r.Shadow.PricePerHour, r.Shadow.Waiting, 100*r.Agreement)
}

// Text is the report as a table.
func (r Report) Text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s to %s (%s)\n\n", r.From.UTC().Format(time.RFC3339), r.To.UTC().Format(time.RFC3339), r.To.Sub(r.From).Round(time.Second))
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")+"\t") }
	both := func(name, format string, value func(Side) any) {
		row(name, fmt.Sprintf(format, value(r.Incumbent)), fmt.Sprintf(format, value(r.Shadow)))
	}
	row("", "INCUMBENT", "SHADOW")
	both("nodes now", "%d", func(s Side) any { return s.Nodes })
	both("$/h now", "%.4f", func(s Side) any { return s.PricePerHour })
	both("dollars", "%.4f", func(s Side) any { return s.Dollars })
	both("node hours", "%.3f", func(s Side) any { return s.NodeHours })
	if r.Incumbent.UnpricedNodeHours+r.Shadow.UnpricedNodeHours > 0 {
		both("without a price", "%.3f", func(s Side) any { return s.UnpricedNodeHours })
	}
	both("nodes launched", "%d", func(s Side) any { return s.Launched })
	both("nodes removed", "%d", func(s Side) any { return s.Removed })
	both("pods that waited", "%d", func(s Side) any { return s.Waits.Pods })
	both("mean wait, s", "%.1f", func(s Side) any { return s.Waits.Mean })
	both("95 % waited at most, s", "%.0f", func(s Side) any { return s.Waits.P95 })
	both("longest wait, s", "%.0f", func(s Side) any { return s.Waits.Longest })
	both("pods waiting now", "%d", func(s Side) any { return s.Waiting })
	_ = table.Flush() // a Builder does not fail
	fmt.Fprintf(&text, "\nAgreement: %.0f %% of nodes are the same now, %.0f %% on average.", 100*r.Agreement, 100*r.AverageAgreement)
	if r.Incumbent.Dollars > 0 && r.Incumbent.UnpricedNodeHours == 0 && r.Shadow.UnpricedNodeHours == 0 {
		fmt.Fprintf(&text, " The shadow fleet cost %+.1f %%.", 100*(r.Shadow.Dollars/r.Incumbent.Dollars-1))
	}
	text.WriteString("\n")
	if len(r.Unknown) > 0 {
		text.WriteString("\nNot known or left out:\n")
		for _, u := range r.Unknown {
			fmt.Fprintf(&text, "  - %s\n", u)
		}
	}
	return text.String()
}
