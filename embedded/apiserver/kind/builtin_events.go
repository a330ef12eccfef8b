package kind

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func eventFields() []string {
	return []string{
		"involvedObject.apiVersion", "involvedObject.fieldPath", "involvedObject.kind", "involvedObject.name", "involvedObject.namespace",
		"involvedObject.resourceVersion", "involvedObject.uid", "reason", "reportingComponent", "source", "type",
	}
}

func eventHooks() hooks {
	return hooks{
		validate: on2(func(o, _ *corev1.Event, _ bool) field.ErrorList {
			inCluster := o.InvolvedObject.Namespace == "" && (o.Namespace == "default" || o.Namespace == "kube-system")
			if !inCluster && o.Namespace != o.InvolvedObject.Namespace {
				return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), o.InvolvedObject.Namespace, "does not match event.namespace")}
			}
			return nil
		}),
		columns: []column{
			{name: "Last Seen", kind: "string", value: func(r row) any {
				for _, path := range []string{"series.lastObservedTime", "lastTimestamp", "eventTime", "firstTimestamp"} {
					if at := r.text(path); at != "" {
						return since(at, r.now)
					}
				}
				return "<unknown>"
			}},
			text("Type", "type"), text("Reason", "reason"),
			{name: "Object", kind: "string", value: func(r row) any {
				return strings.ToLower(r.text("involvedObject.kind")) + "/" + r.text("involvedObject.name")
			}},
			wide(text("Subobject", "involvedObject.fieldPath")), wide(text("Source", "source.component")),
			{name: "Message", kind: "string", value: func(r row) any { return strings.TrimSpace(r.text("message")) }},
			wide(column{name: "First Seen", kind: "string", value: func(r row) any {
				for _, path := range []string{"firstTimestamp", "eventTime"} {
					if at := r.text(path); at != "" {
						return since(at, r.now)
					}
				}
				return "<unknown>"
			}}),
			wide(column{name: "Count", kind: "string", value: func(r row) any { return fmt.Sprint(max(r.number("count"), 1)) }}),
			wide(text("Name", "metadata.name")),
		},
	}
}

func serviceHooks() hooks {
	return hooks{
		defaults: on(func(o *corev1.Service) {
			spec := &o.Spec
			set(&spec.SessionAffinity, corev1.ServiceAffinityNone)
			set(&spec.Type, corev1.ServiceTypeClusterIP)
			for i := range spec.Ports {
				p := &spec.Ports[i]
				set(&p.Protocol, corev1.ProtocolTCP)
				if p.TargetPort == (intstr.IntOrString{}) {
					p.TargetPort = intstr.FromInt32(p.Port)
				}
			}
			if spec.Type != corev1.ServiceTypeExternalName {
				set(&spec.InternalTrafficPolicy, ptr.To(corev1.ServiceInternalTrafficPolicyCluster))
			}
		}),
		create: on(func(o *corev1.Service) {
			o.Status = corev1.ServiceStatus{}
			if o.Spec.Type == corev1.ServiceTypeExternalName {
				return
			}
			set(&o.Spec.IPFamilyPolicy, ptr.To(corev1.IPFamilyPolicySingleStack))
			if len(o.Spec.IPFamilies) == 0 {
				o.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
			}
			if o.Spec.ClusterIP != "" && len(o.Spec.ClusterIPs) == 0 {
				o.Spec.ClusterIPs = []string{o.Spec.ClusterIP}
			}
		}),
		columns: []column{
			nameColumn(), text("Type", "spec.type"), or("Cluster-IP", "spec.clusterIP", "<none>"),
			{name: "External-IP", kind: "string", value: func(r row) any {
				if r.text("spec.type") == string(corev1.ServiceTypeExternalName) {
					return r.text("spec.externalName")
				}
				return "<none>"
			}},
			{name: "Port(s)", kind: "string", value: func(r row) any {
				var out []string
				for _, p := range r.list("spec.ports") {
					out = append(out, fmt.Sprintf("%d/%s", p.number("port"), p.text("protocol")))
				}
				if len(out) == 0 {
					return "<none>"
				}
				return strings.Join(out, ",")
			}},
			ageColumn(),
			wide(column{name: "Selector", kind: "string", value: func(r row) any { return labelsText(r.object("spec.selector")) }}),
		},
	}
}

// or is a column with a text in place of no value.
func or(name, path, none string) column {
	return column{name: name, kind: "string", value: func(r row) any {
		if v := r.text(path); v != "" {
			return v
		}
		return none
	}}
}
