Feature: The cache of packages
  What was fetched from a registry is kept, in memory or in a folder. Content is named by what it is, so it is kept as
  long as there is room and checked whenever it is read; an alias is believed for a time only.

  Background:
    Given the package "pdf" in a registry
    And the package "mail" in a registry
    And the package "csv" in a registry

  # --- hits and misses ------------------------------------------------------------------------------------------------

  @S2-31
  Scenario Outline: A package that is kept is not fetched again (<place>)
    Given a cache in <place>
    When the package "pdf" is wanted
    And the package "pdf" is wanted
    Then the registry was asked for the package "pdf" 1 time
    And both times it was the package that was published

    Examples:
      | place    |
      | memory   |
      | a folder |

  @S2-31
  Scenario: Another program on the same folder does not fetch it either
    Given a cache in a folder
    When the package "pdf" is wanted
    And another process wants the package "pdf"
    Then the registry was asked for the package "pdf" 1 time

  @S2-35
  Scenario Outline: A cache counts what it does (<place>)
    Given a cache in <place> with room for 2 packages
    When the package "pdf" is wanted
    And the package "pdf" is wanted
    And the package "mail" is wanted
    And the package "csv" is wanted
    Then the cache has counted
      | hits | misses | evictions | corrupt | unstored | entries |
      | 1    | 3      | 1         | 0       | 0        | 2       |

    Examples:
      | place    |
      | memory   |
      | a folder |

  # --- time -----------------------------------------------------------------------------------------------------------

  @S2-32
  Scenario Outline: An alias is looked up again when its time is over, content is not (<place>)
    Given a cache in <place> that believes aliases for 300 seconds
    When the alias "acme/pdf@latest" of the package "pdf" is kept
    And the package "pdf" is wanted
    And <passed> seconds pass
    Then the alias "acme/pdf@latest" is <known>
    And the cache still has the package "pdf"

    Examples:
      | place    | passed | known   |
      | memory   | 299    | known   |
      | memory   | 300    | unknown |
      | a folder | 299    | known   |
      | a folder | 300    | unknown |
      | a folder | -1     | unknown |

  # --- trust ----------------------------------------------------------------------------------------------------------

  @S2-33
  Scenario: Content that was damaged on disk is dropped and fetched again
    Given a cache in a folder
    When the package "pdf" is wanted
    And the content of the package "pdf" is damaged on disk
    And the package "pdf" is wanted
    Then both times it was the package that was published
    And the registry was asked for the package "pdf" 2 times
    And the cache has counted
      | corrupt | entries |
      | 1       | 1       |

  @S2-33
  Scenario Outline: Content that is not what its id says never gets in (<place>)
    Given a cache in <place>
    And the registry gives other content for the package "pdf"
    When the package "pdf" is wanted
    Then it fails with an IntegrityError that names the id of the package "pdf"
    And the cache has counted
      | entries |
      | 0       |

    Examples:
      | place    |
      | memory   |
      | a folder |

  @S2-33
  Scenario: A file that is damaged as a whole is set aside and the cache goes on
    Given a cache in a folder
    When the package "pdf" is wanted
    And the file of the cache is overwritten with nonsense
    And the package "pdf" is wanted
    Then both times it was the package that was published
    And the damaged file was set aside
    And the cache has counted
      | corrupt | entries |
      | 1       | 1       |

  # --- room -----------------------------------------------------------------------------------------------------------

  @S2-34
  Scenario Outline: What was not used for longest makes room (<place>)
    Given a cache in <place> with room for 2 packages
    When the package "pdf" is wanted
    And the package "mail" is wanted
    And the package "pdf" is wanted
    And the package "csv" is wanted
    Then the cache still has the package "pdf"
    And the cache still has the package "csv"
    And the cache no longer has the package "mail"
    And the cache holds no more bytes than it may

    Examples:
      | place    |
      | memory   |
      | a folder |

  # --- company --------------------------------------------------------------------------------------------------------

  @S2-36
  Scenario Outline: Many threads that want one package at once fetch it once (<place>)
    Given a cache in <place>
    When 12 threads want the package "pdf" at once
    Then the registry was asked for the package "pdf" 1 time
    And each got the package that was published

    Examples:
      | place    |
      | memory   |
      | a folder |

  @S2-36
  Scenario: Many processes that fill one folder at once fetch each package once
    Given a cache in a folder
    When 6 processes want all packages at once
    Then the registry was asked for the package "pdf" 1 time
    And the registry was asked for the package "mail" 1 time
    And the registry was asked for the package "csv" 1 time
    And the cache has counted
      | corrupt | unstored | entries |
      | 0       | 0        | 3       |

  @S2-36
  Scenario: Processes that are killed while they write leave a cache that can be trusted
    Given a cache in a folder with room for 2 packages
    When 12 processes are killed while they fill the cache
    Then every package the cache has is the one that was published
    And nothing but the cache's own files is left in the folder
    And the cache has counted
      | corrupt | unstored |
      | 0       | 0        |
