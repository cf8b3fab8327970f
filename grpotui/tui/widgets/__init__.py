"""Widgets that only draw: they are told values and know no run and no source."""
