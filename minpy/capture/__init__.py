"""Users' functions run once on proxies, so that what they compute becomes nodes of a graph.

`proxy` and `nd_proxy` stand in arrays' places; `noting`, `storage`, `ufuncs`, `functions` and `operators` say what is
done to them; `shadow` and `foreign` let users' functions run so that nothing else happens; `reads` is what they refer
to, which is guarded; `tracer` runs them, `report` tells what came of it.
"""
