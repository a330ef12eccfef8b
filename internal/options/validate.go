package options

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Validate checks conditions that the form of a single value does not show. All violations are joined, one a line, each naming flag, variable, value
// and the allowed values.
func (o Options) Validate() error {
	var refusals Refusals
	refuse := refusals.Refuse
	for _, p := range []struct {
		flag, env string
		port      int
	}{{"metrics-port", "METRICS_PORT", o.Serving.MetricsPort}, {"health-probe-port", "HEALTH_PROBE_PORT", o.Serving.HealthProbePort}} {
		if p.port < 0 || p.port > 65535 {
			refuse(p.flag, p.env, p.port, "must be a port from 0 (any free one) to 65535")
		}
	}
	if p := o.Serving.MetricsPort; p != 0 && p == o.Serving.HealthProbePort {
		refuse("health-probe-port", "HEALTH_PROBE_PORT", p, "must differ from --metrics-port")
	}
	if o.Client.QPS == 0 {
		refuse("kube-client-qps", "KUBE_CLIENT_QPS", o.Client.QPS, "must be above 0, or negative for no limit")
	}
	if o.Client.Burst <= 0 {
		refuse("kube-client-burst", "KUBE_CLIENT_BURST", o.Client.Burst, "must be above 0")
	}
	if limit := o.Process.MemoryLimit; limit < -1 || limit > 0 && limit < minMemoryLimit {
		refuse("memory-limit", "MEMORY_LIMIT", limit, "must be at least %d bytes (1Mi), or -1 or 0 for no limit; %d is 1Gi", minMemoryLimit, 1<<30)
	}
	if o.Scheduling.BatchMaxDuration <= 0 {
		refuse("batch-max-duration", "BATCH_MAX_DURATION", o.Scheduling.BatchMaxDuration, "must be above 0s, for example 10s")
	}
	if o.Scheduling.BatchIdleDuration <= 0 {
		refuse("batch-idle-duration", "BATCH_IDLE_DURATION", o.Scheduling.BatchIdleDuration, "must be above 0s, for example 1s")
	}
	if problems := validation.IsDNS1123Subdomain(o.LeaderElection.Name); len(problems) > 0 && !o.LeaderElection.Disable {
		refuse("leader-election-name", "LEADER_ELECTION_NAME", o.LeaderElection.Name, "must be the name of a lease: %s", strings.Join(problems, "; "))
	}
	if ns := o.LeaderElection.Namespace; ns != "" {
		if problems := validation.IsDNS1123Label(ns); len(problems) > 0 {
			refuse("leader-election-namespace", "LEADER_ELECTION_NAMESPACE", ns, "must be the name of a namespace: %s", strings.Join(problems, "; "))
		}
	}
	if o.KWOK.Catalog == "" {
		refuse("catalog", "CATALOG", o.KWOK.Catalog, "must name a catalogue, for example generic")
	}
	if a := o.Serving.ConsoleAddr; a != "" && !validAddress(a) {
		refuse("console-addr", "CONSOLE_ADDR", a, "must be HOST:PORT, such as 127.0.0.1:8082, or :8082 for all interfaces")
	}
	o.Ledger.validate(refuse)
	o.Notifications.validate(refuse)
	o.Cluster.validate(refuse)
	o.InstanceTypes.Validate(refuse)
	for _, p := range o.Providers {
		if s, ok := p.(ProviderSettings); ok {
			s.Validate(o, refuse)
		}
	}
	return refusals.Err()
}

// minMemoryLimit is the least memory limit in bytes. No container runs with less: the value was meant in another unit.
const minMemoryLimit = 1 << 20

// Refusals collects values that are not valid.
type Refusals struct {
	errs []error
}

// Refuse adds a value; it is of type Refuse.
func (r *Refusals) Refuse(flag, env string, value any, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("flag --%s (environment variable %s) is %v: %s", flag, env, quote(value), fmt.Sprintf(format, args...)))
}

// Err returns all refusals as one error, one a line; nil if there are none.
func (r *Refusals) Err() error { return errors.Join(r.errs...) }

func quote(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(value)
}
