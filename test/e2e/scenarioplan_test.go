package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// plan is the plan of a scenario, read from its text.
type plan struct {
	launches []launch
	// placed is how many pods of each workload get a node, new or old.
	placed           map[string]int
	refused, ignored []refusal
	skipped          []string
	// leftOut are the messages of overlays that do not apply, by name.
	leftOut map[string]string
	// tooLarge are the DaemonSets that nodes are launched without, as namespace/name.
	tooLarge []string
	// settled are the workloads that are not part of the plan, because the scenario puts their pods on nodes itself, with
	// their number of pods.
	bound map[string]int
}

// launch is one node that should be launched.
type launch struct {
	pool, instanceType, price string
	// pods are those that it is meant for: number by workload.
	pods     map[string]int
	requests string
	// labels are what the node must have; an empty value means that it must not have the label.
	labels map[string][]string
	// drivers are those that the node waits for, as the annotation has them.
	drivers string
	// overlaid is what NodeOverlays changed about what the claim lists.
	overlaid []string
}

// refusal is the event of pods that get no node.
type refusal struct {
	pods map[string]int // number by workload
	why  []string
}

// explains reports whether some event contains the whole message.
func (v refusal) explains(events []string) bool {
	return slices.ContainsFunc(events, func(event string) bool {
		return !slices.ContainsFunc(v.why, func(part string) bool { return !strings.Contains(event, part) })
	})
}

var (
	launchLine = regexp.MustCompile(`^launch (\S+?)(?: x(\d+))?: (\S+)(?: \(or \d+ others?\))? \$(\S+)/h, \d+ pods?: (.*)$`)
	placeLine  = regexp.MustCompile(`^place [^:]+: (.*)$`)
	refuseLine = regexp.MustCompile(`^refuse (.*)$`)
	ignoreLine = regexp.MustCompile(`^ignore (.*?\)): (.*)$`)
	skipLine   = regexp.MustCompile(`^skip (\S+): `)
	daemonLine = regexp.MustCompile(`^leave out DaemonSet (\S+): `)
	leftLine   = regexp.MustCompile(`^leave out (\S+): (.*)$`)
	totalLine  = regexp.MustCompile(`^total `)
	groupItem  = regexp.MustCompile(`(\S+) \((\d+)\)`)
	inList     = regexp.MustCompile(`(\S+) In \[([^\]]*)\]`)
	absent     = regexp.MustCompile(`(\S+) DoesNotExist`)
)

// readPlan reads the text of a plan. An unknown line is an error, so that no line is left unchecked.
func readPlan(text string) (plan, error) {
	p := plan{placed: map[string]int{}, leftOut: map[string]string{}}
	inRefusal, times := false, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if detail, ok := strings.CutPrefix(line, "  "); ok {
			if strings.HasPrefix(detail, "devices ") {
				continue // which of several equal devices a claim gets is kube-scheduler's choice
			}
			if inRefusal {
				last := &p.refused[len(p.refused)-1]
				if amounts, deeper := strings.CutPrefix(detail, "  "); deeper {
					last.why = append(last.why, amounts)
				} else {
					last.why = append(last.why, reasonOf(detail))
				}
			} else if err := p.detail(detail, times); err != nil {
				return plan{}, err
			}
			continue
		}
		inRefusal = false
		switch {
		case launchLine.MatchString(line):
			m := launchLine.FindStringSubmatch(line)
			times = 1
			if m[2] != "" {
				times, _ = strconv.Atoi(m[2]) // digits only
			}
			for range times {
				p.launches = append(p.launches, launch{pool: m[1], instanceType: m[3], price: m[4], pods: group(m[5]), labels: map[string][]string{}})
				merge(p.placed, group(m[5]))
			}
		case placeLine.MatchString(line):
			merge(p.placed, group(placeLine.FindStringSubmatch(line)[1]))
		case refuseLine.MatchString(line):
			p.refused = append(p.refused, refusal{pods: group(refuseLine.FindStringSubmatch(line)[1])})
			inRefusal = true
		case ignoreLine.MatchString(line):
			m := ignoreLine.FindStringSubmatch(line)
			p.ignored = append(p.ignored, refusal{group(m[1]), []string{m[2]}})
		case skipLine.MatchString(line):
			p.skipped = append(p.skipped, skipLine.FindStringSubmatch(line)[1])
		case daemonLine.MatchString(line):
			p.tooLarge = append(p.tooLarge, daemonLine.FindStringSubmatch(line)[1])
		case leftLine.MatchString(line):
			m := leftLine.FindStringSubmatch(line)
			p.leftOut[m[1]] = m[2]
		case totalLine.MatchString(line):
		default:
			return plan{}, fmt.Errorf("the plan has a line that is not understood: %q", line)
		}
	}
	return p, nil
}

// reasonOf is a line of a refusal without the name of the pool, which an event does not repeat.
func reasonOf(line string) string {
	if pool, why, ok := strings.Cut(line, ": "); ok && !strings.Contains(pool, " ") {
		return why
	}
	return line
}

// detail reads a line about the launches that were read last.
func (p *plan) detail(line string, times int) error {
	what, text, _ := strings.Cut(line, " ")
	for i := len(p.launches) - times; i < len(p.launches); i++ {
		l := &p.launches[i]
		switch what {
		case "requests":
			amounts := map[string]string{}
			for _, one := range strings.Split(text, ", ") {
				name, amount, _ := strings.Cut(one, " ")
				amounts[name] = amount
			}
			var err error
			if l.requests, err = canonical(amounts); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
		case "where":
			for _, m := range inList.FindAllStringSubmatch(text, -1) {
				l.labels[m[1]] = strings.Fields(m[2])
			}
			for _, m := range absent.FindAllStringSubmatch(text, -1) {
				l.labels[m[1]] = []string{""}
			}
		case "drivers":
			l.drivers = strings.ReplaceAll(text, " ", "")
		case "overlaid":
			l.overlaid = strings.Split(text, ", ")
		case "labels":
			for _, one := range strings.Split(text, ", ") {
				key, value, _ := strings.Cut(one, "=")
				l.labels[key] = []string{value}
			}
		default:
			return fmt.Errorf("the plan has a line that is not understood: %q", line)
		}
	}
	return nil
}

// group reads "api (2), web (3)".
func group(text string) map[string]int {
	out := map[string]int{}
	for _, m := range groupItem.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[2]) // digits only
		out[m[1]] += n
	}
	return out
}

func merge(into, from map[string]int) {
	for name, n := range from {
		into[name] += n
	}
}

// pods is how many pods of each workload the plan is about.
func (p plan) pods() map[string]int {
	out := maps.Clone(p.placed)
	for _, v := range slices.Concat(p.refused, p.ignored) {
		merge(out, v.pods)
	}
	return out
}

// toPlace is how many pods a pass has to find a place for.
func (p plan) toPlace() int {
	n := 0
	for _, pods := range p.placed {
		n += pods
	}
	for _, v := range p.refused {
		for _, pods := range v.pods {
			n += pods
		}
	}
	return n
}

// canonical normalizes amounts. It drops zeros.
func canonical(amounts map[string]string) (string, error) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		q, err := resource.ParseQuantity(amounts[name])
		if err != nil {
			return "", err
		}
		if !q.IsZero() {
			out = append(out, name+" "+q.AsDec().String())
		}
	}
	return strings.Join(out, ", "), nil
}

// compareClaims describes how the claims differ from the planned launches.
func (p plan) compareClaims(claims []v1.NodeClaim, types map[string]prices) string {
	if len(claims) != len(p.launches) {
		return fmt.Sprintf("there are %d nodeclaims, planned %d", len(claims), len(p.launches))
	}
	left := slices.Clone(claims)
	// Those with the largest requests choose first.
	wanted := slices.SortedStableFunc(slices.Values(p.launches), func(a, b launch) int { return len(b.labels) - len(a.labels) })
	for _, want := range wanted {
		var why []string
		found := slices.IndexFunc(left, func(c v1.NodeClaim) bool {
			difference := want.differs(&c, types)
			why = append(why, fmt.Sprintf("%s: %s", c.Name, difference))
			return difference == ""
		})
		if found < 0 {
			return fmt.Sprintf("no nodeclaim is the planned %s of %s: %s", want.instanceType, want.pool, strings.Join(why, ", "))
		}
		left = slices.Delete(left, found, found+1)
	}
	return ""
}

// differs describes how a claim differs from the launch.
func (l launch) differs(c *v1.NodeClaim, types map[string]prices) string {
	amounts := map[string]string{}
	for name, q := range c.Spec.Resources.Requests {
		amounts[string(name)] = q.String()
	}
	requests, err := canonical(amounts)
	if err != nil {
		return err.Error()
	}
	got := c.Labels[corev1.LabelInstanceTypeStable]
	price := types[l.pool].of(got, c.Labels[corev1.LabelTopologyZone], c.Labels[v1.CapacityTypeLabelKey])
	switch {
	case c.Labels[v1.NodePoolLabelKey] != l.pool:
		return fmt.Sprintf("pool %q, want %q", c.Labels[v1.NodePoolLabelKey], l.pool)
	case requests != l.requests:
		return fmt.Sprintf("requests %s, want %s", requests, l.requests)
	case price != l.price: // of several types at the same price any will do
		return fmt.Sprintf("type %s at $%s, want %s at $%s", got, price, l.instanceType, l.price)
	case !slices.ContainsFunc(c.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == corev1.LabelInstanceTypeStable && slices.Contains(r.Values, got)
	}):
		return fmt.Sprintf("type %s is none that the claim lists", got)
	}
	for what, key := range map[string]string{"price": v1.PriceOverlayAppliedAnnotationKey, "capacity": v1.CapacityOverlayAppliedAnnotationKey} {
		if marked := c.Annotations[key] == "true"; marked != slices.Contains(l.overlaid, what) {
			return fmt.Sprintf("annotation %s=%q, want %v to be overlaid", key, c.Annotations[key], l.overlaid)
		}
	}
	if got := c.Annotations[v1.RequestedDRADriversAnnotationKey]; got != l.drivers {
		return fmt.Sprintf("drivers %q, want %q", got, l.drivers)
	}
	for key, values := range l.labels {
		if !slices.Contains(values, c.Labels[key]) {
			return fmt.Sprintf("label %s=%q, want %q", key, c.Labels[key], values)
		}
	}
	return ""
}

// prices are the instance types of a catalog by name.
type prices map[string]*cloud.InstanceType

// prices are those of each pool among the objects, overlaid if objects say so.
func (w *harness) prices(catalog string, objects []client.Object) map[string]prices {
	w.t.Helper()
	c, err := kwok.New(nil, kwok.Options{Catalog: catalog})
	w.must(err)
	provider := simulation.WithOverlays(w.ctx, objects, c)
	out := map[string]prices{}
	for _, o := range objects {
		pool, ok := o.(*v1.NodePool)
		if !ok || !c.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		types, err := provider.InstanceTypes(w.ctx, pool)
		w.must(err)
		out[pool.Name] = prices{}
		for _, it := range types {
			out[pool.Name][it.Name] = it
		}
	}
	return out
}

// of is the price of an offering as plans print it.
func (p prices) of(name, zone, capacityType string) string {
	if it, ok := p[name]; ok {
		for _, o := range it.Offerings {
			if o.Zone() == zone && o.CapacityType() == capacityType {
				return fmt.Sprintf("%.4f", o.Price)
			}
		}
	}
	return "?"
}
