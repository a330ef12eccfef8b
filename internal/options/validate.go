package options

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Validate checks what a single value cannot show by its form. All violations are joined, one a line, each naming flag, variable, value
// and what is allowed.
func (o Options) Validate() error {
	var errs []error
	refuse := func(flag, env string, value any, format string, args ...any) {
		errs = append(errs, fmt.Errorf("flag --%s (environment variable %s) is %v: %s", flag, env, quote(value), fmt.Sprintf(format, args...)))
	}
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
	if o.Scheduling.BatchMaxDuration <= 0 {
		refuse("batch-max-duration", "BATCH_MAX_DURATION", o.Scheduling.BatchMaxDuration, "must be above 0s")
	}
	if o.Scheduling.BatchIdleDuration <= 0 {
		refuse("batch-idle-duration", "BATCH_IDLE_DURATION", o.Scheduling.BatchIdleDuration, "must be above 0s")
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
	o.validateAWS(refuse)
	return errors.Join(errs...)
}

// validateAWS checks the settings of AWS. The name of the cluster is needed there, and nowhere else.
func (o Options) validateAWS(refuse func(flag, env string, value any, format string, args ...any)) {
	a := o.AWS
	if o.CloudProvider == CloudProviderAWS && a.ClusterName == "" {
		refuse("cluster-name", "CLUSTER_NAME", a.ClusterName, "missing field, cluster-name")
	}
	if a.ClusterEndpoint != "" {
		if u, err := url.Parse(a.ClusterEndpoint); err != nil || !u.IsAbs() || u.Hostname() == "" {
			refuse("cluster-endpoint", "CLUSTER_ENDPOINT", a.ClusterEndpoint, "cluster endpoint URL is not valid")
		}
	}
	if a.VMMemoryOverheadPercent < 0 {
		refuse("vm-memory-overhead-percent", "VM_MEMORY_OVERHEAD_PERCENT", a.VMMemoryOverheadPercent, "vm-memory-overhead-percent cannot be negative")
	}
	if a.ReservedENIs < 0 {
		refuse("reserved-enis", "RESERVED_ENIS", a.ReservedENIs, "reserved-enis cannot be negative")
	}
	if a.AMIRefreshInterval < time.Minute {
		refuse("ami-refresh-interval", "AMI_REFRESH_INTERVAL", a.AMIRefreshInterval, "ami-refresh-interval must be at least 1m")
	}
	if a.SubnetRefreshInterval < time.Minute {
		refuse("subnet-refresh-interval", "SUBNET_REFRESH_INTERVAL", a.SubnetRefreshInterval, "subnet-refresh-interval must be at least 1m")
	}
}

func quote(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(value)
}
