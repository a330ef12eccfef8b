package subnet

import (
	"fmt"
	"testing"
)

func TestSubnetsThatAreNotReportedAreForgotten(t *testing.T) {
	var l Ledger
	for i := range 100_000 { // subnets that come and go, beside one that stays
		l.Observed(fmt.Sprint("subnet-", i), 5)
		if i%100 == 0 {
			l.Observed("subnet-stays", 7)
		}
	}
	if n := len(l.pages); n > 2*rememberedReports {
		t.Errorf("%d subnets are known", n)
	}
	if e := l.pages["subnet-stays"]; e.free != 7 {
		t.Errorf("a subnet that is reported was forgotten: %+v", e)
	}
}
