package v1beta1

import (
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// LocalDNS configures the DNS proxy on each node.
type LocalDNS struct {
	// mode says whether nodes have the proxy. Preferred leaves the decision to the provider; see status.localDNSState.
	// +kubebuilder:validation:Enum:={Preferred,Required,Disabled}
	// +required
	Mode LocalDNSMode `json:"mode,omitempty"`
	// vnetDNSOverrides configure, by zone, queries of pods with dnsPolicy Default and of the kubelet.
	// +kubebuilder:validation:XValidation:message="vnetDNSOverrides must contain the zones '.' and 'cluster.local'",rule="['.', 'cluster.local'].all(z, self.exists(x, x.zone == z))"
	// +kubebuilder:validation:XValidation:message="the zone '.' of vnetDNSOverrides must not be forwarded to ClusterCoreDNS",rule="self.all(x, x.zone != '.' || x.forwardDestination != 'ClusterCoreDNS')"
	// +kubebuilder:validation:XValidation:message="zones of vnetDNSOverrides outside 'cluster.local' must not be forwarded to ClusterCoreDNS",rule="self.all(x, x.zone == '.' || x.zone.endsWith('cluster.local') || x.forwardDestination != 'ClusterCoreDNS')"
	// +kubebuilder:validation:MaxItems:=100
	// +listType=map
	// +listMapKey=zone
	// +required
	VnetDNSOverrides []LocalDNSZoneOverride `json:"vnetDNSOverrides,omitempty"`
	// kubeDNSOverrides configure, by zone, queries of pods with dnsPolicy ClusterFirst.
	// +kubebuilder:validation:XValidation:message="kubeDNSOverrides must contain the zones '.' and 'cluster.local'",rule="['.', 'cluster.local'].all(z, self.exists(x, x.zone == z))"
	// +kubebuilder:validation:MaxItems:=100
	// +listType=map
	// +listMapKey=zone
	// +required
	KubeDNSOverrides []LocalDNSZoneOverride `json:"kubeDNSOverrides,omitempty"`
}

// LocalDNSMode says whether nodes have a DNS proxy.
type LocalDNSMode string

// Values of LocalDNSMode.
const (
	LocalDNSModePreferred LocalDNSMode = "Preferred"
	LocalDNSModeRequired  LocalDNSMode = "Required"
	LocalDNSModeDisabled  LocalDNSMode = "Disabled"
)

// LocalDNSZoneOverride configures the queries of one zone.
//
// +kubebuilder:validation:XValidation:message="zones that end with 'cluster.local' must not be forwarded to VnetDNS",rule="!self.zone.endsWith('cluster.local') || self.forwardDestination != 'VnetDNS'"
// +kubebuilder:validation:XValidation:message="serveStale 'Verify' must not be combined with protocol 'ForceTCP'",rule="self.serveStale != 'Verify' || self.protocol != 'ForceTCP'"
type LocalDNSZoneOverride struct {
	// zone is the name of the zone; a dot stands for the root zone.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=254
	// +kubebuilder:validation:Pattern:=`^([.]|[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*[.]?)$`
	// +required
	Zone string `json:"zone"`
	// queryLogging says which queries are logged: all, or those that failed.
	// +kubebuilder:validation:Enum:={Error,Log}
	// +required
	QueryLogging string `json:"queryLogging,omitempty"`
	// protocol is the one for queries to the upstream server.
	// +kubebuilder:validation:Enum:={PreferUDP,ForceTCP}
	// +required
	Protocol string `json:"protocol,omitempty"`
	// forwardDestination is the upstream server: the DNS of the cluster or that of the virtual network.
	// +kubebuilder:validation:Enum:={ClusterCoreDNS,VnetDNS}
	// +required
	ForwardDestination string `json:"forwardDestination,omitempty"`
	// forwardPolicy says how one of several upstream servers is chosen.
	// +kubebuilder:validation:Enum:={Sequential,RoundRobin,Random}
	// +required
	ForwardPolicy string `json:"forwardPolicy,omitempty"`
	// maxConcurrent is the most concurrent queries.
	// +kubebuilder:validation:Minimum:=0
	// +required
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`
	// cacheDuration is the longest time for which an answer is cached.
	// +kubebuilder:validation:Pattern:=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type:=string
	// +kubebuilder:validation:Schemaless
	// +required
	CacheDuration v1.NillableDuration `json:"cacheDuration,omitzero"`
	// serveStaleDuration is how long an answer is served after it expired.
	// +kubebuilder:validation:Pattern:=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type:=string
	// +kubebuilder:validation:Schemaless
	// +required
	ServeStaleDuration v1.NillableDuration `json:"serveStaleDuration,omitzero"`
	// serveStale says whether an expired answer is checked with the upstream server before it is served.
	// +kubebuilder:validation:Enum:={Verify,Immediate,Disable}
	// +required
	ServeStale string `json:"serveStale,omitempty"`
}
