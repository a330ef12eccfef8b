package kind

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// column is a column of `kubectl get`.
type column struct {
	name, kind, format string
	// wide columns are printed with -o wide only.
	wide  bool
	value func(row) any
}

// row is an object that is printed at some time.
type row struct {
	content map[string]any
	now     time.Time
}

// get is the value at a path with dots, or nil.
func (r row) get(path string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(r.content, strings.Split(path, ".")...)
	return value
}

func (r row) text(path string) string {
	value, _ := r.get(path).(string)
	return value
}

func (r row) number(path string) int64 {
	value, _ := r.get(path).(int64)
	return value
}

func (r row) object(path string) map[string]any {
	value, _ := r.get(path).(map[string]any)
	return value
}

// list are the objects of a list.
func (r row) list(path string) []row {
	items, _ := r.get(path).([]any)
	var out []row
	for _, item := range items {
		if content, ok := item.(map[string]any); ok {
			out = append(out, row{content, r.now})
		}
	}
	return out
}

// since is how long ago a time of the API was.
func since(value any, now time.Time) any {
	text, _ := value.(string)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t))
}

func nameColumn() column {
	return column{name: "Name", kind: "string", format: "name", value: func(r row) any { return r.text("metadata.name") }}
}

func ageColumn() column {
	return column{name: "Age", kind: "string", value: func(r row) any { return since(r.get("metadata.creationTimestamp"), r.now) }}
}

func text(name, path string) column {
	return column{name: name, kind: "string", value: func(r row) any { return r.text(path) }}
}

func count(name, path string) column {
	return column{name: name, kind: "integer", value: func(r row) any { return r.number(path) }}
}

// wide is the column, for -o wide only. Without a value it says so.
func wide(c column) column {
	value := c.value
	c.wide, c.value = true, func(r row) any {
		if v := value(r); v != "" {
			return v
		}
		return "<none>"
	}
	return c
}

// Table prints objects at a time. It has no descriptions of columns for built-in kinds.
func (k *Kind) Table(objects []*unstructured.Unstructured, now time.Time) (*metav1.Table, error) {
	if k.table != nil {
		return k.table(objects, now)
	}
	columns := k.columns
	if columns == nil {
		columns = []column{nameColumn(), ageColumn()}
	}
	out := &metav1.Table{}
	for _, c := range columns {
		definition := metav1.TableColumnDefinition{Name: c.name, Type: c.kind, Format: c.format}
		if c.wide {
			definition.Priority = 1
		}
		out.ColumnDefinitions = append(out.ColumnDefinitions, definition)
	}
	for _, object := range objects {
		var cells []any
		for _, c := range columns {
			cells = append(cells, c.value(row{object.Object, now}))
		}
		out.Rows = append(out.Rows, metav1.TableRow{Cells: cells})
	}
	return out, nil
}

func podColumns() []column {
	return []column{
		nameColumn(),
		{name: "Ready", kind: "string", value: func(r row) any {
			ready := 0
			for _, c := range r.list("status.containerStatuses") {
				if c.get("ready") == true && c.get("state.running") != nil {
					ready++
				}
			}
			return fmt.Sprintf("%d/%d", ready, len(r.list("spec.containers")))
		}},
		{name: "Status", kind: "string", value: func(r row) any { return podStatus(r) }},
		{name: "Restarts", kind: "string", value: func(r row) any {
			restarts := int64(0)
			for _, c := range r.list("status.containerStatuses") {
				restarts += c.number("restartCount")
			}
			return fmt.Sprint(restarts)
		}},
		ageColumn(),
		wide(text("IP", "status.podIP")),
		wide(text("Node", "spec.nodeName")),
		wide(text("Nominated Node", "status.nominatedNodeName")),
		wide(column{name: "Readiness Gates", kind: "string", value: func(r row) any {
			gates := r.list("spec.readinessGates")
			if len(gates) == 0 {
				return ""
			}
			met := 0
			for _, gate := range gates {
				for _, c := range r.list("status.conditions") {
					if c.text("type") == gate.text("conditionType") && c.text("status") == "True" {
						met++
					}
				}
			}
			return fmt.Sprintf("%d/%d", met, len(gates))
		}}),
	}
}

// podStatus is the reason or the phase of a pod, or that of a container that waits or has terminated.
func podStatus(r row) string {
	status := r.text("status.phase")
	if reason := r.text("status.reason"); reason != "" {
		status = reason
	}
	for _, c := range r.list("status.conditions") {
		if c.text("type") == "PodScheduled" && c.text("reason") == "SchedulingGated" {
			status = "SchedulingGated"
		}
	}
	running := false
	for _, c := range slices.Backward(r.list("status.containerStatuses")) {
		waiting, terminated := c.text("state.waiting.reason"), c.text("state.terminated.reason")
		switch {
		case waiting != "":
			status = waiting
		case terminated != "":
			status = terminated
		case c.get("state.terminated") != nil:
			status = fmt.Sprintf("ExitCode:%d", c.number("state.terminated.exitCode"))
		case c.get("ready") == true && c.get("state.running") != nil:
			running = true
		}
	}
	if status == "Completed" && running {
		status = "Running"
	}
	if r.get("metadata.deletionTimestamp") != nil {
		if r.text("status.reason") == "NodeLost" {
			return "Unknown"
		}
		if phase := r.text("status.phase"); phase != "Failed" && phase != "Succeeded" {
			return "Terminating"
		}
	}
	return status
}

func nodeColumns() []column {
	address := func(kind string) func(row) any {
		return func(r row) any {
			for _, a := range r.list("status.addresses") {
				if a.text("type") == kind {
					return a.text("address")
				}
			}
			return ""
		}
	}
	info := func(name, path string) column {
		return column{name: name, kind: "string", wide: true, value: func(r row) any {
			if v := r.text("status.nodeInfo." + path); v != "" {
				return v
			}
			return "<unknown>"
		}}
	}
	return []column{
		nameColumn(),
		{name: "Status", kind: "string", value: func(r row) any {
			status := "Unknown"
			for _, c := range r.list("status.conditions") {
				if c.text("type") == "Ready" {
					status = map[bool]string{true: "Ready", false: "NotReady"}[c.text("status") == "True"]
				}
			}
			if r.get("spec.unschedulable") == true {
				status += ",SchedulingDisabled"
			}
			return status
		}},
		{name: "Roles", kind: "string", value: func(r row) any {
			var roles []string
			for key, value := range r.object("metadata.labels") {
				if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok && role != "" {
					roles = append(roles, role)
				} else if name, _ := value.(string); key == "kubernetes.io/role" && name != "" {
					roles = append(roles, name)
				}
			}
			slices.Sort(roles)
			if len(roles) == 0 {
				return "<none>"
			}
			return strings.Join(slices.Compact(roles), ",")
		}},
		ageColumn(),
		text("Version", "status.nodeInfo.kubeletVersion"),
		wide(column{name: "Internal-IP", kind: "string", value: address("InternalIP")}),
		wide(column{name: "External-IP", kind: "string", value: address("ExternalIP")}),
		info("OS-Image", "osImage"), info("Kernel-Version", "kernelVersion"), info("Container-Runtime", "containerRuntimeVersion"),
	}
}

// workload are the last columns of workloads.
func workload() []column {
	joined := func(path string) func(row) any {
		return func(r row) any {
			var out []string
			for _, c := range r.list("spec.template.spec.containers") {
				out = append(out, c.text(path))
			}
			return strings.Join(out, ",")
		}
	}
	return []column{
		wide(column{name: "Containers", kind: "string", value: joined("name")}),
		wide(column{name: "Images", kind: "string", value: joined("image")}),
	}
}

func selectorColumn() column {
	return wide(column{name: "Selector", kind: "string", value: func(r row) any {
		selector, err := SelectorOf(r.get("spec.selector"))
		if err != nil {
			return "<error>"
		}
		return selector.String()
	}})
}

// SelectorOf reads a label selector object of a workload.
func SelectorOf(value any) (labels.Selector, error) {
	content, _ := value.(map[string]any)
	typed, err := decodeSelector(content)
	if err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(typed) //nolint:wrapcheck // the message names the selector
}

func ofReplicas(ready string) column {
	return column{name: "Ready", kind: "string", value: func(r row) any { return fmt.Sprintf("%d/%d", r.number(ready), r.number("spec.replicas")) }}
}

func deploymentColumns() []column {
	text := func(name, path string) column {
		return column{name: name, kind: "string", value: func(r row) any { return r.number(path) }}
	}
	return append(append([]column{
		nameColumn(), ofReplicas("status.readyReplicas"), text("Up-to-date", "status.updatedReplicas"), text("Available", "status.availableReplicas"), ageColumn(),
	}, workload()...), selectorColumn())
}

func replicaSetColumns() []column {
	return append(append([]column{
		nameColumn(), count("Desired", "spec.replicas"), count("Current", "status.replicas"), count("Ready", "status.readyReplicas"), ageColumn(),
	}, workload()...), selectorColumn())
}

func statefulSetColumns() []column {
	return append([]column{nameColumn(), ofReplicas("status.readyReplicas"), ageColumn()}, workload()...)
}

func daemonSetColumns() []column {
	return append(append([]column{
		nameColumn(), count("Desired", "status.desiredNumberScheduled"), count("Current", "status.currentNumberScheduled"),
		count("Ready", "status.numberReady"), count("Up-to-date", "status.updatedNumberScheduled"), count("Available", "status.numberAvailable"),
		{name: "Node Selector", kind: "string", value: func(r row) any {
			selector := labels.Set{}
			for key, value := range r.object("spec.template.spec.nodeSelector") {
				selector[key], _ = value.(string)
			}
			if len(selector) == 0 {
				return "<none>"
			}
			return selector.String()
		}},
		ageColumn(),
	}, workload()...), selectorColumn())
}

func budgetColumns() []column {
	threshold := func(name, path string) column {
		return column{name: name, kind: "string", value: func(r row) any {
			if v := r.get(path); v != nil {
				return fmt.Sprint(v)
			}
			return "N/A"
		}}
	}
	return []column{
		nameColumn(), threshold("Min Available", "spec.minAvailable"), threshold("Max Unavailable", "spec.maxUnavailable"),
		count("Allowed Disruptions", "status.disruptionsAllowed"), ageColumn(),
	}
}

// inTemplate joins a field of the containers of a pod template.
func inTemplate(name, path string) column {
	return column{name: name, kind: "string", value: func(r row) any {
		var out []string
		for _, c := range r.list("template.spec.containers") {
			out = append(out, c.text(path))
		}
		return strings.Join(out, ",")
	}}
}

// labelsText prints labels, or that there are none.
func labelsText(content map[string]any) string {
	if len(content) == 0 {
		return "<none>"
	}
	set := labels.Set{}
	for key, value := range content {
		set[key], _ = value.(string)
	}
	return set.String()
}

func parseTime(text string) (time.Time, error) {
	return time.Parse(time.RFC3339, text) //nolint:wrapcheck // the caller needs to know only that it is no time
}
