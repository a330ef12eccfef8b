// Package settings defines the flags and environment variables of the provider for AWS.
//
// Source: AWS specification, settings.
package settings

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// Provider is the value of --cloud-provider that chooses AWS.
const Provider options.CloudProvider = "aws"

// Settings configure the provider for AWS.
type Settings struct {
	// ClusterCABundle is the base64 of the certificates that nodes trust; empty means those of the controller's connection.
	ClusterCABundle string `name:"cluster-ca-bundle" envvar:"CLUSTER_CA_BUNDLE" group:"AWS" placeholder:"BASE64" help:"aws: CA bundle of the API server for nodes; default: the one of the controller's connection."`
	// IsolatedVPC says that services without private endpoints are not reachable: prices and IAM.
	IsolatedVPC bool `name:"isolated-vpc" envvar:"ISOLATED_VPC" group:"AWS" help:"aws: the VPC has no access to the Price List API and IAM."`
	// EKSControlPlane reads the version of Kubernetes from EKS instead of the API server.
	EKSControlPlane bool `name:"eks-control-plane" envvar:"EKS_CONTROL_PLANE" group:"AWS" help:"aws: read the Kubernetes version from EKS, not from the API server."`
	// InterruptionQueue is the name of the SQS queue with messages about instances; empty means none is read.
	InterruptionQueue string `name:"interruption-queue" envvar:"INTERRUPTION_QUEUE" group:"AWS" placeholder:"NAME" help:"aws: SQS queue with interruption messages; none by default."`
	// ReservedENIs is how many network interfaces of each instance are not for pods.
	ReservedENIs int `name:"reserved-enis" envvar:"RESERVED_ENIS" group:"AWS" default:"0" help:"aws: network interfaces of each instance that are not for pods, from 0 to 100."`
	// DisableDryRun judges node classes without trying what they may do.
	DisableDryRun bool `name:"disable-dry-run" envvar:"DISABLE_DRY_RUN" group:"AWS" help:"aws: do not validate node classes with dry-run calls."`
	// EnableZonalShift launches nothing in zones with an active zonal shift.
	EnableZonalShift bool `name:"enable-zonal-shift" envvar:"ENABLE_ZONAL_SHIFT" group:"AWS" help:"aws: launch no instances in zones with an active ARC zonal shift."`
	// AMIRefreshInterval and SubnetRefreshInterval are how long images and subnets are cached.
	AMIRefreshInterval    time.Duration `name:"ami-refresh-interval" envvar:"AMI_REFRESH_INTERVAL" group:"AWS" default:"1m" help:"aws: how long discovered images are cached, at least 1m."`
	SubnetRefreshInterval time.Duration `name:"subnet-refresh-interval" envvar:"SUBNET_REFRESH_INTERVAL" group:"AWS" default:"1m" help:"aws: how long discovered subnets are cached, at least 1m."`
	// SecurityGroupRefreshInterval is how long security groups are cached.
	SecurityGroupRefreshInterval time.Duration `name:"security-group-refresh-interval" envvar:"SECURITY_GROUP_REFRESH_INTERVAL" group:"AWS" default:"1m" help:"aws: how long discovered security groups are cached, at least 1m."`
	// FeatureGates switches features of this provider.
	FeatureGates FeatureGates `name:"aws-feature-gates" envvar:"AWS_FEATURE_GATES" group:"AWS" placeholder:"NAME=BOOL,..." default:"NodeClassCEL=false,DRANVIDIAGPU=false,DRAEFA=false,RebootForRepair=false" help:"aws: feature gates of the provider; unknown ones are logged and ignored."`
}

// shortestRefresh is the shortest time that images, subnets and security groups may be cached for.
const shortestRefresh = time.Minute

// Provider implements options.ProviderSettings.
func (*Settings) Provider() options.CloudProvider { return Provider }

// GatesWithoutEffect implements options.ProviderGates.
func (a *Settings) GatesWithoutEffect() []string { return a.FeatureGates.withoutEffect() }

// Validate implements options.ProviderSettings.
func (a *Settings) Validate(all options.Options, refuse options.Refuse) {
	if all.CloudProvider == Provider && all.Cluster.Name == "" {
		refuse("cluster-name", "CLUSTER_NAME", all.Cluster.Name, "missing field, cluster-name")
	}
	ValidateReservedENIs(a.ReservedENIs, refuse)
	if a.AMIRefreshInterval < shortestRefresh {
		refuse("ami-refresh-interval", "AMI_REFRESH_INTERVAL", a.AMIRefreshInterval, "ami-refresh-interval must be at least 1m")
	}
	if a.SubnetRefreshInterval < shortestRefresh {
		refuse("subnet-refresh-interval", "SUBNET_REFRESH_INTERVAL", a.SubnetRefreshInterval, "subnet-refresh-interval must be at least 1m")
	}
	if a.SecurityGroupRefreshInterval < shortestRefresh {
		refuse("security-group-refresh-interval", "SECURITY_GROUP_REFRESH_INTERVAL", a.SecurityGroupRefreshInterval, "security-group-refresh-interval must be at least 1m")
	}
}

// maxReservedENIs is more network interfaces than any instance type has; with as many reserved, no pod gets an address.
const maxReservedENIs = 100

// ValidateReservedENIs checks the number of reserved network interfaces, for the controller and for simulations.
func ValidateReservedENIs(reservedENIs int, refuse options.Refuse) {
	switch {
	case reservedENIs < 0:
		refuse("reserved-enis", "RESERVED_ENIS", reservedENIs, "reserved-enis cannot be negative; it must be from 0 to %d", maxReservedENIs)
	case reservedENIs > maxReservedENIs:
		refuse("reserved-enis", "RESERVED_ENIS", reservedENIs, "must be from 0 to %d: no instance type has more network interfaces", maxReservedENIs)
	}
}
