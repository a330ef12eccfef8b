package nodeprofile

import (
	"time"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// LocalDNS is the configuration of the DNS proxy of nodes as AKS takes it, with overrides by zone.
type LocalDNS struct {
	Mode             v1beta1.LocalDNSMode    `json:"mode,omitempty"`
	VnetDNSOverrides map[string]ZoneOverride `json:"vnetDNSOverrides,omitempty"`
	KubeDNSOverrides map[string]ZoneOverride `json:"kubeDNSOverrides,omitempty"`
}

// ZoneOverride is how the proxy resolves names of a zone.
type ZoneOverride struct {
	QueryLogging                string `json:"queryLogging,omitempty"`
	Protocol                    string `json:"protocol,omitempty"`
	ForwardDestination          string `json:"forwardDestination,omitempty"`
	ForwardPolicy               string `json:"forwardPolicy,omitempty"`
	MaxConcurrent               *int32 `json:"maxConcurrent,omitempty"`
	CacheDurationInSeconds      *int64 `json:"cacheDurationInSeconds,omitempty"`
	ServeStaleDurationInSeconds *int64 `json:"serveStaleDurationInSeconds,omitempty"`
	ServeStale                  string `json:"serveStale,omitempty"`
}

// LocalDNSOf returns the configuration of the DNS proxy of a class; nil for a class without one. The mode Preferred
// is replaced by what it was resolved to.
func LocalDNSOf(class *v1beta1.AKSNodeClass) *LocalDNS {
	in := class.ResolvedLocalDNS()
	if in == nil {
		return nil
	}
	return &LocalDNS{
		Mode: in.Mode, VnetDNSOverrides: byZone(in.VnetDNSOverrides), KubeDNSOverrides: byZone(in.KubeDNSOverrides),
	}
}

func byZone(overrides []v1beta1.LocalDNSZoneOverride) map[string]ZoneOverride {
	zones := make(map[string]ZoneOverride, len(overrides))
	for _, in := range overrides {
		zones[in.Zone] = ZoneOverride{
			QueryLogging: in.QueryLogging, Protocol: in.Protocol, ForwardDestination: in.ForwardDestination,
			ForwardPolicy: in.ForwardPolicy, MaxConcurrent: in.MaxConcurrent, ServeStale: in.ServeStale,
			CacheDurationInSeconds: seconds(in.CacheDuration), ServeStaleDurationInSeconds: seconds(in.ServeStaleDuration),
		}
	}
	return zones
}

// seconds returns a duration in whole seconds; nil for one that is not set.
func seconds(duration v1.NillableDuration) *int64 {
	if duration.Duration == nil {
		return nil
	}
	return new(int64(*duration.Duration / time.Second))
}
