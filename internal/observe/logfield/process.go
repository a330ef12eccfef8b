package logfield

import (
	"log/slog"
	"time"
)

// failure is the text of an error, and no field for nil. The handler turns the error into the text, since it reads its values too.
func failure(key string, err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	return slog.Any(key, err)
}

// Error is what went wrong. Values that the error carries are added as fields.
func Error(err error) slog.Attr { return failure("error", err) }

// Stack is the stack trace of a panic.
func Stack(trace string) slog.Attr { return slog.String("stack", trace) }

// Controller is the name of the controller.
func Controller(name string) slog.Attr { return slog.String("controller", name) }

// ReconcileID is the same in all lines of one reconcile, or of one pass of provisioning or disruption.
func ReconcileID(id string) slog.Attr { return slog.String("reconcileID", id) }

// Duration is how long something took, or has lasted so far.
func Duration(d time.Duration) slog.Attr { return slog.String("duration", d.String()) }

// RetryIn is the time until the next attempt.
func RetryIn(d time.Duration) slog.Attr { return slog.String("retry-in", d.String()) }

// GivingUpIn is the time until the process ends unless it succeeds.
func GivingUpIn(d time.Duration) slog.Attr { return slog.String("giving-up-in", d.String()) }

// Timeout is the time after which a NodeClaim that did not launch or register is deleted.
func Timeout(d time.Duration) slog.Attr { return slog.String("timeout", d.String()) }

// ClockAhead is how far the clock is ahead of that of the API server; negative when it is behind.
func ClockAhead(d time.Duration) slog.Attr { return slog.String("ahead", d.String()) }

// Missing lists what the cluster state or the API server still lacks.
func Missing(kinds []string) slog.Attr { return texts("missing", kinds) }

// Address is the address at which an endpoint listens.
func Address(hostPort string) slog.Attr { return slog.String("address", hostPort) }

// Server is the address of the API server.
func Server(host string) slog.Attr { return slog.String("server", host) }

// ServerVersion is the version of the API server.
func ServerVersion(version string) slog.Attr { return slog.String("server-version", version) }

// KubernetesMinor is the minor version of Kubernetes 1 whose kube-scheduler is followed; 0 if the API server does not say it.
func KubernetesMinor(minor int) slog.Attr { return slog.Int("kubernetes-minor", minor) }

// OptionalResources lists the resources that not every API server serves and that this one serves.
func OptionalResources(names []string) slog.Attr { return texts("optional-resources", names) }

// Version is the version of Karpenter, or of Kubernetes in messages about it.
func Version(version string) slog.Attr { return slog.String("version", version) }

// CloudProvider is the value of --cloud-provider.
func CloudProvider(name string) slog.Attr { return slog.String("cloud-provider", name) }

// FeatureGates lists the feature gates.
func FeatureGates(text string) slog.Attr { return slog.String("feature-gates", text) }

// GatesWithoutEffect lists feature gates that are set and have no effect.
func GatesWithoutEffect(names []string) slog.Attr { return texts("gates", names) }

// SpreadConstraints lists topology spread constraints: the key, maxSkew and whenUnsatisfiable of each.
func SpreadConstraints(list []string) slog.Attr { return texts("spread-constraints", list) }

// LegacyObject is the kind and name of an object of an earlier API.
func LegacyObject(text string) slog.Attr { return slog.String("object", text) }

// Target is the kind and name of the object that stands for an object of an earlier API.
func Target(text string) slog.Attr { return slog.String("target", text) }

// Directory is a directory on disk.
func Directory(path string) slog.Attr { return slog.String("directory", path) }

// RecordKind is the kind of a record of the ledger.
func RecordKind(kind string) slog.Attr { return slog.String("record-kind", kind) }

// Notification is what a notification is about, such as plan.proposed.
func Notification(event string) slog.Attr { return slog.String("notification", event) }

// Format is the form of notifications.
func Format(name string) slog.Attr { return slog.String("format", name) }
