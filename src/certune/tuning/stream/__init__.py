"""Instances that arrive one after the other and are not kept."""
